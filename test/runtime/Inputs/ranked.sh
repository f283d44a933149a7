# Runs a command as a rank of mpirun; its process number goes into the file $PIDS.RANK, for watch.py.
echo $$ > "$PIDS.$OMPI_COMM_WORLD_RANK"
exec "$@"
