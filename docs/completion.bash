# Completion of dopt and its tools for bash: options, their values, passes, clusters, files. Where dopt is installed, bash
# loads it by itself; else: . docs/completion.bash. What there is to complete is read from -help.

_dopt() {
	local tool=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} option='' before='' words=''
	local -i i=COMP_CWORD
	COMPREPLY=()
	# A word is cut at "=": -stats = js.
	if [[ $cur == = ]]; then
		option=${COMP_WORDS[i - 1]} cur=''
	elif ((i > 1)) && [[ ${COMP_WORDS[i - 1]} == = ]]; then
		option=${COMP_WORDS[i - 2]}
	elif [[ ${COMP_WORDS[i - 1]} == -help || ${COMP_WORDS[i - 1]} == -pass ]]; then
		option=${COMP_WORDS[i - 1]}
	fi
	option=-${option##*-}
	case ${option#-} in
	'')
		if [[ $cur == -* ]]; then
			words=$("$tool" -help 2>/dev/null | sed -nE 's/^  (-[A-Za-z0-9-]+).*/\1/p')
		elif ((i == 1)); then
			words=$("$tool" -help 2>/dev/null |
				sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
		fi
		;;
	pass | help)
		words=$("$tool" -list-passes 2>/dev/null | sed -nE 's/^  ([a-z-]+) .*/\1/p')
		[[ $cur == *,* ]] && before=${cur%,*},
		cur=${cur##*,}
		;;
	cluster | list-clusters)
		words=$("$tool" -list-clusters 2>/dev/null | sed -nE 's/^([a-z0-9_]+) .*/\1/p')
		;;
	*)
		words=$("$tool" -help 2>/dev/null |
			sed -nE "s/^  $option\[?=([A-Za-z0-9|-]+)( .*|\].*)?\$/\1/p")
		[[ $words == *'|'* ]] && words=${words//|/ } || words=''
		;;
	esac
	local IFS=$' \n'
	COMPREPLY=($(compgen -P "$before" -W "$words" -- "$cur"))
}

complete -o default -o bashdefault -F _dopt dopt dopt-profile dopt-reduce dopt-rules dopt-schedule dopt-trace
