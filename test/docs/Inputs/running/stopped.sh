# Runs a command and tells it to stop once a checkpoint is there. usage: stopped.sh CHECKPOINT COMMAND...
checkpoint=$1
shift
"$@" &
for i in $(seq 2000); do
	if [ -e "$checkpoint" ]; then break; fi
	sleep 0.01
done
kill -TERM $!
wait $!
