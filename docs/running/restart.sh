#!/bin/sh
# Runs a training program until all steps are done, and goes on with the hosts that are left when one fails: docs/running.md.
#
# usage: HOSTS=FILE BUILD=COMMAND SAVE=DIR/ restart.sh OPTIONS...
#
#   HOSTS   file of lines "host" or "host slots=N", as mpirun reads it
#   BUILD   called as `BUILD N PROGRAM`: makes the program for N ranks, or fails if there is none for N
#   SAVE    checkpoints: the program gets `-save $SAVE -resume` and OPTIONS, which say -until and -save-every
#   PROGRAMS  folder of the programs, made once for each N (programs)
#   PROBE   does a host work? Called as `PROBE HOST` (ssh)
#   LAUNCH  how N ranks are started on the hosts of the file $LIVE (mpirun)
#   FEWEST  ranks with which it still goes on (1)
#   TRIES   failures in a row without a new checkpoint after which it gives up (3)
set -u
: "${HOSTS:?is a file of hosts}" "${BUILD:?is the command that makes a program}" "${SAVE:?is the folder of checkpoints}"
PROGRAMS=${PROGRAMS:-programs} FEWEST=${FEWEST:-1} TRIES=${TRIES:-3}
LAUNCH=${LAUNCH-'mpirun -n $N --hostfile $LIVE'}
LIVE=$PROGRAMS/hosts.live
child=

say() { echo "restart.sh: $*" >&2; }

probe() {
	if [ -n "${PROBE:-}" ]; then
		$PROBE "$1"
	else
		ssh -n -o BatchMode=yes -o ConnectTimeout=10 "$1" true
	fi
}

# Writes the hosts that work to $LIVE; N is the number of their slots.
find_hosts() {
	N=0
	: > "$LIVE"
	while read -r host rest; do
		case $host in '' | '#'*) continue ;; esac
		if probe "$host" < /dev/null > /dev/null 2>&1; then
			echo "$host $rest" >> "$LIVE"
			slots=$(echo "$rest" | sed -n 's/.*slots=\([0-9][0-9]*\).*/\1/p')
			N=$((N + ${slots:-1}))
		else
			say "host $host does not answer"
		fi
	done < "$HOSTS"
}

# Makes the program for N ranks, or for the next smaller number for which there is one.
find_program() {
	while [ "$N" -ge "$FEWEST" ] && [ "$N" -gt 0 ]; do
		program=$PROGRAMS/train.$N
		if [ -x "$program" ] || $BUILD "$N" "$program"; then return 0; fi
		say "no program for $N ranks"
		N=$((N - 1))
	done
	return 1
}

checkpoints() { ls -lR "${SAVE%/}" "${SAVE%/}".step-* 2> /dev/null | cksum; }

stop() { [ -z "$child" ] || kill -TERM "$child" 2> /dev/null; }
trap stop TERM INT

mkdir -p "$PROGRAMS" || exit 1
failures=0
while :; do
	find_hosts
	find_program || { say "$N ranks are left, fewer than $FEWEST"; exit 1; }
	before=$(checkpoints)
	say "starts $N ranks"
	eval "$LAUNCH \"\$program\" -save \"\$SAVE\" -resume \"\$@\" &"
	child=$!
	wait "$child"
	status=$?
	# A signal ends `wait` before the program has saved.
	while kill -0 "$child" 2> /dev/null; do wait "$child"; status=$?; done
	child=
	case $status in
	0) exit 0 ;;
	2) say "wrong options, data or checkpoint: starting again does not help"; exit 2 ;;
	75) say "stopped, with everything saved"; exit 75 ;;
	esac
	if [ "$before" = "$(checkpoints)" ]; then failures=$((failures + 1)); else failures=0; fi
	say "status $status"
	[ "$failures" -lt "$TRIES" ] || { say "$failures failures in a row without a new checkpoint"; exit 1; }
done
