# Runs restart.slurm with the scontrol and srun of a folder. usage: job.sh FOLDER COMMAND...
PATH=$1:$PATH
export PATH
shift
exec timeout 100 "$@"
