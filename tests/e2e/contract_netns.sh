# The contract tests across four hosts that are network namespaces. CONTRACT is the test program, its arguments are ours.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
make_hosts 4
WEFT_TEST_HOSTS=$(joined_by , "${hosts[@]}") "${CONTRACT:?the program contract_tests}" "$@"
