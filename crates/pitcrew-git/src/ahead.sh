# Brings an unused checkout from one state to another. Only what differs is read.
#
# Arguments: the current state, the requested state, and then git with its options.
before=$1 start=$2
shift 2

# Attributes affect the content of files that are the same in both states.
"$@" diff-tree -r --quiet "$before" "$start" -- ':(glob)**/.gitattributes' &
"$@" read-tree -m -u "$start" && wait $!
