# The steps of a snapshot, one after another in one box. Each step first prints `step NAME`, so that the
# reader knows where the script ended, and then its results as lines `name value`.
#
# Words: the steps, our folder, the start, the tree, the agent's head, whether the agent is `gone` or
# `working`, the size of a file that is too large, the tree of the start where it is known, and then our
# git.
steps=$1 folder=$2 start=$3 tree=$4 head=$5 agent=$6 large=$7 before=$8
shift 8
commit=$start

# Git waits forever when it opens a pipe, such as one called `.gitignore`. A pipe contains nothing that could
# be lost, so pipes are removed; of a working agent only those that git would open. Unreadable folders are
# made readable for their owner: they are work too.
make_readable() {
    if [ "$agent" = gone ]; then
        find . -type d ! -perm -500 -exec chmod u+rx {} \; -o -type p -exec rm -f {} + 2>/dev/null
    else
        find . -type p \( -name '.git*' -o -path '*/.git/*' \) -exec rm -f {} + 2>/dev/null
    fi
}

# Nothing in a checkout runs with the rights of its owner or group.
drop_bits() {
    find . -type f \( -perm -4000 -o -perm -2000 \) -exec chmod u-s,g-s {} + 2>/dev/null
}

add_all() {
    "$@" add --all --ignore-errors --pathspec-from-file="$folder/paths" --pathspec-file-nul \
        2>"$folder/errors"
}

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

# What was found to be the agent's head: one that moved has to be a commit.
read_head() {
    head=
    if [ -f "$folder/head" ]; then read -r head <"$folder/head"; fi
    if [ -n "$head" ] && [ "$head" != "$start" ]; then
        head=$("$@" rev-parse --verify --quiet "$head^{commit}" 2>/dev/null)
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

case " $steps " in
*" changed "* | *" listed "* | *" add "*)
    make_readable
    # It looks at every file, as git does meanwhile.
    drop_bits &
    bits=$!
    trap 'wait "$bits"' EXIT
    ;;
esac

for step in $steps; do
    echo "step $step"
    case $step in
    changed)
        "$@" ls-files -z --modified --others --exclude-standard >"$folder/changed" || exit
        ;;
    listed)
        # Both look at every file, and neither waits for the other. Errors are found by the steps that
        # are taken next.
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
        add_all "$@"
        code=$?
        if [ $code -eq 1 ] && [ "$agent" = gone ]; then
            find . -type f ! -perm -400 -exec chmod u+r {} + 2>/dev/null
            add_all "$@"
            code=$?
        fi
        cat "$folder/errors" >&2
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
        # On top of the agent's commits, if those are valid and descend from the start.
        if [ -n "$head" ] && [ "$head" != "$start" ] &&
            "$@" merge-base --is-ancestor "$start" "$head" 2>/dev/null &&
            heads=$("$@" rev-parse --verify --quiet "$head^{tree}" 2>/dev/null); then
            parent=$head before=$heads
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
