#!/bin/sh
# scontrol and srun for a test: two nodes, of which n1 does not work; ranks are started by $RUN_SLURM.
case $0:$* in
*scontrol:show*) printf 'n1\nn2\n' ;;
*nodelist=n1\ true) exit 1 ;;
*\ true) exit 0 ;;
*srun:*)
	echo "srun $*"
	n=
	while case $1 in -*) true ;; *) false ;; esac; do
		case $1 in --ntasks=*) n=${1#*=} ;; esac
		shift
	done
	exec $RUN_SLURM -n "$n" "$@"
	;;
esac
