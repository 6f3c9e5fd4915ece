// Package faulttest holds the bad days: the built program is killed, starved of disk, given damaged files and spoken to
// in broken HTTP, and must lose nothing it acknowledged.
//
// All of it is in tests, which build cmd/keepsake once and run it as a process, because that is what gets killed. They
// know the program from outside only: its command line, its data folder and its API. FAULTTEST_KILL_ROUNDS sets how many
// times the ledger test kills the server; the default is a handful, before a release it is 200.
package faulttest
