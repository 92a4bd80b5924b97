#!/usr/bin/env bash
# Checks the package as users get it: packs it, lints its exports, and compiles and runs a consumer against the installed tarball.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

npx publint --strict
npm pack --silent --pack-destination "$work" >/dev/null
tarball="$(ls "$work"/*.tgz)"
npx attw "$tarball" --profile esm-only

# What a user's project has: the package, its peers, and nothing of ours.
cp test/consumer/*.ts test/consumer/tsconfig.json "$work"
cd "$work"
printf '{ "name": "consumer", "private": true, "type": "module" }' > package.json
sdk="$(node -p "require('$OLDPWD/node_modules/@modelcontextprotocol/server/package.json').version")"
npm install --no-audit --no-fund --silent "$tarball" "@modelcontextprotocol/server@$sdk" zod@4 keyv@5 typescript@5.9 @types/node@20
node node_modules/typescript/bin/tsc -p tsconfig.json
node node_modules/typescript/bin/tsc -p tsconfig.json --noEmit false --outDir out
cp -r out/. .
node consumer.js
