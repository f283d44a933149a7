# Runs restart.sh, and kills one of its ranks once a checkpoint is there; then a host is gone, too, if one is given.
# usage: broken.sh CHECKPOINT RANK HOST|- COMMAND..., with $PIDS and $DEAD
checkpoint=$1 rank=$2 host=$3
shift 3
"$@" &
child=$!
for i in $(seq 2000); do
	if [ -e "$checkpoint/model.safetensors.index.json" ]; then break; fi
	sleep 0.01
done
[ "$host" = - ] || echo "$host" >> "$DEAD"
kill -9 "$(cat "$PIDS.$rank")"
wait $child
