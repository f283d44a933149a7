# Makes a man page of what `TOOL -help` prints: awk -v name=TOOL -v version=0.1.0 -f man.awk
function plain(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	if (text ~ /^[.']/) text = "\\&" text
	return text
}
# A row of a table: "  -o FILE   text", "  align TRACES   text", or only the first, before lines of text.
function row(line, at) {
	sub(/^ +/, "", line)
	at = match(line, /  +/)
	print ".TP\n.B " plain(at ? substr(line, 1, at - 1) : line)
	if (at) print plain(substr(line, at + RLENGTH))
}
/^usage: / {
	usage = substr($0, 8)
	next
}
usage && !described {
	# The sentence after the usage is what the tool is for.
	what = $0
	sub(/\. .*/, "", what)
	sub(/\.$/, "", what)
	print ".TH " toupper(plain(name)) " 1 \"\" \"dopt " version "\" \"dopt\""
	print ".SH NAME\n" plain(name) " \\- " plain(tolower(substr(what, 1, 1)) substr(what, 2))
	print ".SH SYNOPSIS\n.B " plain(usage) "\n.SH DESCRIPTION"
	described = 1
}
/^Exit status: / {
	print ".SH EXIT STATUS"
	$0 = substr($0, 14)
}
/^[A-Z].*:$/ {
	print ".SH " toupper(plain(substr($0, 1, length($0) - 1)))
	next
}
/^  [^ ]/ {
	row($0)
	next
}
/^$/ { next }
{
	sub(/^ +/, "")
	print plain($0)
}
END { print ".SH SEE ALSO\nThe manual, in share/doc/dopt/docs." }
