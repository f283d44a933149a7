# Runs a command under a time limit, says its exit code, and succeeds if it is the expected one.
# usage: code.sh CODE COMMAND...
expected=$1
shift
timeout 60 "$@"
code=$?
echo "exit code $code"
[ $code = $expected ]
