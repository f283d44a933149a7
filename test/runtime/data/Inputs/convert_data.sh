# convert_data.sh DOPT FOLDER MODEL FILE...: training on same.st and on each FILE.st of the folder saves the same bytes.
set -e
dopt=$1 folder=$2 model=$3
shift 3
"$dopt" -emit=program -D N=1 -pass='dp{axis=dp},grad,sgd' "$model" -o "$folder/train1"
"$dopt" -emit=program -D N=2 -pass='dp{axis=dp},grad,sgd' "$model" -o "$folder/train2"
"$dopt" -emit=program -D N=1 -pass='accumulate{steps=2},grad,sgd' "$model" -o "$folder/train3"
for file in same "$@"; do
	for program in 1 2 3; do
		"$folder/train$program" -steps 4 -data "$folder/$file.st" -save "$folder/$program.$file.w" >"$folder/log"
		cmp "$folder/$program.same.w" "$folder/$program.$file.w"
	done
	"$dopt" -run -steps=4 -D N=1 -pass=grad,sgd -data="$folder/$file.st" -save="$folder/run.$file.w" "$model" >"$folder/log"
	cmp "$folder/run.same.w" "$folder/run.$file.w"
done
