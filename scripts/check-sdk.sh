#!/usr/bin/env bash
# Compiles and tests against the oldest SDK that package.json allows, in a copy: what reaches into the SDK must hold on both ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
oldest="$(node -p "require('./package.json').peerDependencies['@modelcontextprotocol/server'].replace('^', '')")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp -r . "$work/project"
cd "$work/project"
npm install --no-save --no-audit --no-fund --silent "@modelcontextprotocol/server@$oldest"
echo "against @modelcontextprotocol/server $(node -p "require('@modelcontextprotocol/server/package.json').version" 2>/dev/null || echo "$oldest")"
npm run --silent typecheck
npx vitest run test/wire
