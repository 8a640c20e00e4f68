# Takes a tree that somebody has read in from one state to another, in one box.
#
# Words: our folder, the state that it had, the one that is asked for, and then our git.
folder=$1 before=$2 start=$3
shift 3

# Where nobody has written, only what differs between the two is touched. Both of these look at every
# file, and neither waits for the other.
"$@" diff-files --quiet --ignore-submodules=all &
if "$@" ls-files --others >"$folder/others" && [ ! -s "$folder/others" ] && wait $!; then
    [ "$before" = "$start" ] || "$@" read-tree -m -u "$before" "$start" && exit
fi
wait
"$@" read-tree -u --reset "$start" && "$@" clean -ffdxq
