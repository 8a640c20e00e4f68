# Brings a tree that readers have used from one state to another, in one box.
#
# Arguments: the previous state, the requested state, the temporary folder, and then git with its
# options.
before=$1 start=$2 folder=$3
shift 3

# Git blocks forever when it opens a pipe.
find . -type p -exec rm -f {} + 2>/dev/null
# Nothing in a checkout runs with the rights of its owner or group.
find . -type f \( -perm -4000 -o -perm -2000 \) -exec chmod u-s,g-s {} + 2>/dev/null

# Whether the tree is unchanged. Both commands check every file, so they run in parallel.
is_tidy() {
    "$@" diff-files --quiet --ignore-submodules=all &
    "$@" ls-files --others >"$folder/others" && [ ! -s "$folder/others" ] && wait $!
}

# If it is unchanged, only the differences between the two states are read.
if is_tidy "$@"; then
    [ "$before" = "$start" ] || "$@" read-tree -m -u "$start" && exit
fi
wait
"$@" read-tree -u --reset "$start" && "$@" clean -ffdxq
