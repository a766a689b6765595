#!/bin/sh
# Puts a release together in dist/, beside the wheels: the source, the site, the CHANGELOG's section and the checksums
# (make release).  It is a rehearsal: nothing is uploaded or tagged, and the last lines say what is left to do.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
version=$("$python" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
section=$(awk -v begin="## $version" 'index($0, begin) == 1 {on = 1; print; next} /^## / {on = 0} on' CHANGELOG.md)
[ -n "$section" ] || {
    echo "error: release: CHANGELOG.md has no section of version $version. Write one." >&2
    exit 2
}
grep -q "^version: $version\$" CITATION.cff || {
    echo "error: release: CITATION.cff has another version than $version. Correct it." >&2
    exit 2
}
left=""
! echo "$section" | head -n 1 | grep -q "not released" || left="$left
  the date in CHANGELOG.md: it says that $version is not released yet"
[ -z "$(git status --porcelain)" ] || left="$left
  a commit: there are changes that are not committed"

printf '%s\n' "$section" >"dist/CHANGES-$version.md"
rm -f dist/gridval-*.tar.gz
"$python" -m build --sdist --outdir dist . >build/sdist.log 2>&1 || { tail -n 20 build/sdist.log >&2; exit 1; }
sh setup.sh docs
.venv/bin/sphinx-build -q -n -j auto -b html -d build/docs/doctrees docs build/docs/html
tar -C build/docs -czf "dist/gridval-$version-site.tar.gz" html
(cd dist && sha256sum gridval* "CHANGES-$version.md" >SHA256SUMS)
cat dist/SHA256SUMS
echo "release $version is put together in dist/; nothing is uploaded. Left to do:$left
  git tag v$version, and the files of dist/ where people get them"
