#!/usr/bin/env bash
source ./lib.sh
. "common.sh"

readonly LIMIT=3
export TARGET="prod"
count=0

# Deploys one service.
deploy() {
  local name=$1
  inner=2
}

function rollback {
  echo "back"
}
