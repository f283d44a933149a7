#!/bin/sh
# rounds.sh FOLDER RUN COMMAND...: calls COMMAND, which writes the program FOLDER/measure, runs that by RUN and loads the times into
# FOLDER/times.db, until nothing is left to measure. At most 8 times, as dopt does by itself.
folder=$1 run=$2
shift 2
for round in 1 2 3 4 5 6 7 8; do
	"$@" > "$folder/said" || exit 1
	cat "$folder/said"
	if grep -q 'nothing is left' "$folder/said"; then exit 0; fi
	sh -c "$run" > "$folder/times" || exit 1
	dopt-profile load "$folder/times" "$folder/times.db" || exit 1
done
exit 1
