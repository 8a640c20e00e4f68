# Takes a tree that somebody has read in from one state to another, in one box.
#
# Words: whether it is known to be tidy, the state that it had, the one that is asked for, our folder,
# and then our git.
tidy=$1 before=$2 start=$3 folder=$4
shift 4

# Whether nobody has written. Both of these look at every file, and neither waits for the other.
is_tidy() {
    "$@" diff-files --quiet --ignore-submodules=all &
    "$@" ls-files --others >"$folder/others" && [ ! -s "$folder/others" ] && wait $!
}

# Then only what differs between the two is looked at again.
if [ -n "$tidy" ] || is_tidy "$@"; then
    [ "$before" = "$start" ] || "$@" read-tree -m -u "$start" && exit
fi
wait
"$@" read-tree -u --reset "$start" && "$@" clean -ffdxq
