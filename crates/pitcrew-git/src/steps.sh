# The steps of a snapshot, one after another in one box. Each step first prints `step NAME`, so that
# the reader knows where the script ended, and then its results as lines `name value`.
#
# Arguments: the steps, the temporary folder, the start, the tree, the agent's head, whether the
# agent is `gone` or `working`, the maximum file size, the tree of the start if it is known, and
# then git with its options.
steps=$1 folder=$2 start=$3 tree=$4 head=$5 agent=$6 large=$7 before=$8
shift 8
commit=$start

# Git blocks forever when it opens a pipe, such as one called `.gitignore`. A pipe contains nothing
# that could be lost, so pipes are removed. If the agent is still working, only those that git would
# open are removed. Unreadable folders are made readable for their owner, because they are work too.
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

# Whether there are few names, each on one line, and all are links or files of a usual size. Deleted
# paths are accepted.
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

# Reads the agent's head. If it is not the start, it has to be a commit.
read_head() {
    head=
    if [ -f "$folder/head" ]; then read -r head <"$folder/head"; fi
    if [ -n "$head" ] && [ "$head" != "$start" ]; then
        head=$("$@" rev-parse --verify --quiet "$head^{commit}" 2>/dev/null)
    fi
}

# Needed almost always, so it is looked up in the background.
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
    # This reads every file's metadata while git does the same.
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
        # Both commands check every file, so they run in parallel. The next steps report any errors.
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
        # Exit code 1: some files could not be read, and all others were added.
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
