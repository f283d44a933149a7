#!/bin/sh
# offload_same.sh DOPT FILE OUTPUT N [OPTION]...: builds the step of FILE for N ranks and the same step with barriers in
# place of its copies to the host and back; both must compute the same bits, and allocate what was predicted.
set -e
dopt=$1 file=$2 out=$3 n=$4
shift 4
sed 's/offload(/barrier(/; s/reload(/barrier(/; s/@host//' "$file" > "$out.plain.dir"
cp "$file" "$out.copies.dir"
for kind in plain copies; do
	"$dopt" -emit=program -D N="$n" "$out.$kind.dir" -o "$out.$kind"
	"$out.$kind" -steps 4 -report-every 1 -save "$out.$kind.st" -dump "$out.$kind.outputs" "$@" 2> "$out.$kind.err" > "$out.$kind.log"
	grep '^step' "$out.$kind.log" > "$out.$kind.steps"
done
cmp "$out.plain.steps" "$out.copies.steps"
cmp "$out.plain.st" "$out.copies.st"
cmp "$out.plain.outputs" "$out.copies.outputs"
cat "$out.copies.log"
