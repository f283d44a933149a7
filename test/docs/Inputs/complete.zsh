# complete.zsh SCRIPT WORD...: prints what the last word may become, a line each, with the part that is complete taken off.
script=$1
shift
words=("$@") CURRENT=$# PREFIX=${words[-1]}
compset() {
	[[ $PREFIX == ${~2}* ]] && PREFIX=${PREFIX##${~2}}
}
compadd() {
	print -l -- ${(M)found:#$PREFIX*}
}
_files() {
	print files
}
run() {
	source $script
}
run
