# Is each option and command that a tool's -help has in its man page, too? usage: man.sh TOOL PAGE
missing=0
for word in $("$1" -help | sed -nE 's/^  (-?[A-Za-z0-9-]+).*/\1/p'); do
	grep -qF "$(printf '.B %s' "$word" | sed 's/-/\\-/g')" "$2" || { echo "$2: no $word"; missing=1; }
done
grep -q '^.SH NAME' "$2" && grep -q '^.SH EXIT STATUS' "$2" && exit $missing
