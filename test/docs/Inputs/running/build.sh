# The program for N ranks; none for 3. usage: build.sh N PROGRAM, with $DOPT and $MODEL
[ "$1" != 3 ] || exit 1
exec "$DOPT" -emit=program -pass='grad,sgd{lr=0.1},dp{axis=dp},shard{axis=dp},opfuse,tensorfuse' -D N="$1" -D B=60 -D H=32 "$MODEL" -o "$2"
