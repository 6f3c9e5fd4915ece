// Package upgradetest holds tests of processes of two releases on one database, and of data folders of earlier releases. The
// folders are in released; docs/release.md says how they get there.
package upgradetest
