# Moves a branch back, together with the clean tree that has it checked out: "$1" is the branch,
# "$2" its old commit, "$3" its new one, "$4" a folder for this script; the rest is git with its
# options. While the tree changes, git holds the lock of the branch, which is still at its old
# commit.
branch=$1 old=$2 new=$3 folder=$4
shift 4
mkfifo "$folder/answers" || exit
{
    printf 'start\nupdate %s %s %s\nprepare\n' "$branch" "$new" "$old"
    exec 3<"$folder/answers"
    read -r started <&3 && read -r prepared <&3 || exit
    # Files whose times have changed count as changed otherwise.
    "$@" update-index -q --refresh >&2
    if [ "$prepared" = "prepare: ok" ] && "$@" read-tree -m -u "$old" "$new" >&2; then
        echo commit
    else
        : >"$folder/refused"
        echo abort
    fi
    read -r ended <&3
} | "$@" update-ref -m "pitcrew: undo land" --stdin >"$folder/answers" || exit
[ ! -e "$folder/refused" ]
