# The steps of a snapshot, one after another in one box. What a step finds out is told in a line
# `name value`; the line before says which step it is, for whoever reads where it ended.
#
# Words: the steps, our folder, the start, the tree, the agent's head, its git folder, the size of a
# file that is too large, the tree of the start where it is known, and then our git.
steps=$1 folder=$2 start=$3 tree=$4 head=$5 agents=$6 large=$7 before=$8
shift 8
commit=$start

# Whether the names are few and of one line each, and lead to nothing but links and files of a usual
# size. What is gone leads to nothing.
are_plain() (
    set --
    while IFS= read -r path; do
        case $path in
        \"* | */) exit 1 ;;
        esac
        [ $# -lt 200 ] || exit 1
        set -- "$@" "./$path"
    done
    [ $# -eq 0 ] ||
        [ -z "$(find "$@" -prune ! -type l ! \( -type f ! -size +"$large"c \) -print 2>/dev/null)" ]
)

# A head that did not move is read without a git.
read_head() {
    head=
    [ -n "$agents" ] || return
    at=
    if [ -f "$agents/HEAD" ]; then read -r at <"$agents/HEAD"; fi
    case $at in
    "ref: refs/heads/"*)
        at="$agents/${at#ref: }"
        if [ -f "$at" ]; then read -r at <"$at"; fi
        ;;
    esac
    if [ "$at" = "$start" ]; then
        head=$start
    else
        head=$("$@" --git-dir="$agents" rev-parse --verify --quiet 'HEAD^{commit}' 2>/dev/null)
    fi
}

# Almost always wanted, and found out while something else is done.
case " $steps " in
*" commit "*)
    if [ -z "$before" ]; then
        "$@" rev-parse --verify --quiet "$start^{tree}" >"$folder/before" &
    fi
    ;;
esac

for step in $steps; do
    echo "step $step"
    case $step in
    changed)
        "$@" ls-files -z --modified --others --exclude-standard >"$folder/changed" || exit
        ;;
    listed)
        # Both look at every file, and neither waits for the other. Whatever is odd here, somebody
        # else finds out.
        "$@" -c core.quotePath=false diff-files --name-only --ignore-submodules=dirty \
            >"$folder/modified" &
        "$@" -c core.quotePath=false ls-files --others --exclude-standard >"$folder/listed" &&
            wait $! || exit 0
        while IFS= read -r path; do
            printf '%s\n' "$path"
        done <"$folder/modified" >>"$folder/listed"
        if [ ! -s "$folder/listed" ]; then
            echo "listed nothing"
            exit
        fi
        are_plain <"$folder/listed" && "$@" -c index.skipHash=true \
            update-index --add --remove --replace --stdin <"$folder/listed" || exit 0
        echo "listed all"
        ;;
    add)
        "$@" add --all --ignore-errors --pathspec-from-file="$folder/paths" --pathspec-file-nul
        code=$?
        echo "added $code"
        # With 1, some of it could not be read, and everything else is in.
        [ $code -le 1 ] || exit $code
        ;;
    nested)
        "$@" diff-index --cached --raw -z --no-abbrev --no-renames "$start" -- >"$folder/nested" || exit
        ;;
    tree)
        tree=$("$@" -c index.skipHash=true write-tree) || exit
        echo "tree $tree"
        ;;
    head)
        read_head "$@"
        echo "head $head"
        ;;
    commit)
        parent=$start
        # On top of what the agent committed, if that is sound and goes on from the start.
        if [ -n "$head" ] && [ "$head" != "$start" ] &&
            "$@" merge-base --is-ancestor "$start" "$head" 2>/dev/null; then
            parent=$head
        fi
        if [ "$parent" != "$start" ]; then
            before=$("$@" rev-parse --verify --quiet "$parent^{tree}") || exit
        elif [ -z "$before" ]; then
            wait
            read -r before <"$folder/before" || exit
        fi
        commit=$parent
        if [ "$before" != "$tree" ]; then
            commit=$("$@" commit-tree "$tree" -p "$parent" <"$folder/message") || exit
        fi
        echo "commit $commit"
        ;;
    pack)
        if [ "$commit" != "$start" ]; then
            printf '%s\n^%s\n' "$commit" "$start" |
                "$@" pack-objects --revs --thin --delta-base-offset --stdout --quiet \
                    >"$folder/pack" || exit
        fi
        ;;
    esac
done
