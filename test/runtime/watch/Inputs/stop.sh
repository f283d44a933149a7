# Runs a rank of a program under mpirun; one of them gets a signal once the log shows a line.
# usage: mpirun ... sh stop.sh SIGNAL RANK LINE LOG COMMAND... > LOG
# LINE is a pattern of grep. LOG.RANK gets each rank's process number.
signal=$1 rank=$2 line=$3 log=$4
shift 4
me=$$
echo $me > $log.$OMPI_COMM_WORLD_RANK
if [ "$OMPI_COMM_WORLD_RANK" = $rank ]; then
	(
		exec > /dev/null 2>&1
		until grep -q "$line" $log; do
			kill -0 $me || exit
			sleep 0.1
		done
		eval "kill -$signal $me"
	) &
fi
exec "$@"
