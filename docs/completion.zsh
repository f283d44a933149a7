#compdef dopt dopt-profile dopt-reduce dopt-rules dopt-schedule dopt-trace
# Completion of dopt and its tools for zsh: options, their values, passes, clusters, files. Installed as _dopt in a folder of
# $fpath. What there is to complete is read from -help.

local tool=$words[1] option='' cur=$PREFIX
local -a found

if [[ $cur == -*=* ]]; then
	option=-${${cur%%=*}##*-}
	compset -P '*='
elif [[ $words[CURRENT-1] == -help || $words[CURRENT-1] == -pass ]]; then
	option=$words[CURRENT-1]
fi
case $option in
'')
	if [[ $cur == -* ]]; then
		found=(${(f)"$($tool -help 2>/dev/null | sed -nE 's/^  (-[A-Za-z0-9-]+).*/\1/p')"})
	elif ((CURRENT == 2)); then
		found=(${(f)"$($tool -help 2>/dev/null | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')"})
	fi
	;;
-pass | -help)
	compset -P '*,'
	found=(${(f)"$($tool -list-passes 2>/dev/null | sed -nE 's/^  ([a-z-]+) .*/\1/p')"})
	;;
-cluster | -list-clusters)
	found=(${(f)"$($tool -list-clusters 2>/dev/null | sed -nE 's/^([a-z0-9_]+) .*/\1/p')"})
	;;
*)
	found=(${(s:|:)"$($tool -help 2>/dev/null | sed -nE "s/^  $option\[?=([A-Za-z0-9|-]+)( .*|\].*)?\$/\1/p")"})
	((${#found} > 1)) || found=()
	;;
esac
((${#found})) && compadd -a found || _files
