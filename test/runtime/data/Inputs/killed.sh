# Starts a program that saves after every step, ten times, and kills it after some milliseconds; with each start it must have
# come further than before, once it has saved. usage: killed.sh DIR/ COMMAND...
folder=${1%/}
shift
for i in 1 2 3 4 5 6 7 8 9 10; do
	"$@" -until 390 >/dev/null 2>"$folder.err" &
	sleep "0.1$((i * 7 % 10))"
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	if grep error "$folder.err"; then exit 1; fi
done
ls -d "$folder".step-* | tail -1
