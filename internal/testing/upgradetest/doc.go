// Package upgradetest holds tests of processes of two releases on one database.
package upgradetest
