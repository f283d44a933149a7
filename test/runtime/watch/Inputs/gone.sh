# Succeeds if the processes whose numbers are in the files are gone, or will be in a moment.
for file; do
	for look in $(seq 100); do
		kill -0 $(cat $file) 2> /dev/null || continue 2
		sleep 0.1
	done
	echo "process $(cat $file) of $file is still there"
	exit 1
done
