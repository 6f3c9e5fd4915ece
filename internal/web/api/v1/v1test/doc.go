// Package v1test holds tests of version 1 of the API in the assembled program.
//
// They are in a folder of their own because the tests inside package v1 would make the program compile once more.
package v1test
