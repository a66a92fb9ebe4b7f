#!/usr/bin/env bash
# Judge each .cu file that differs from $BASE. Writes judged/page.md and a certificate for each file;
# fails where a verdict is not among $ACCEPT. Works in any CI system that has the history.
set -u
: "${BASE:?the commit to compare with}"
: "${BACKEND:=host}"
: "${ACCEPT:=faster same slower}"

rm -rf judged && mkdir -p judged
git worktree add --force --detach judged/base "$BASE" >/dev/null || exit 2
failed=0
while IFS= read -r -d '' file; do
    name=$(printf %s "$file" | tr '/ ' '__')
    gi-cuda judge "judged/base/$file" "$file" --backend "$BACKEND" --json \
        --certificate "judged/$name.json" >"judged/verdict" 2>"judged/said"
    status=$?
    verdict=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["status"])' <judged/verdict 2>/dev/null)
    {
        echo "### \`$file\`: ${verdict:-not judged (exit status $status)}"
        echo '```'
        grep -v '^wrote \|^next: \|^  gi-cuda judge --replay' judged/said | tail -n 25
        echo '```'
    } >>judged/page.md
    case " $ACCEPT " in *" ${verdict:-none} "*) ;; *) failed=1 ;; esac
done < <(git diff --name-only --diff-filter=M -z "$BASE" HEAD -- '*.cu')
git worktree remove --force judged/base
rm -f judged/verdict judged/said
exit $failed
