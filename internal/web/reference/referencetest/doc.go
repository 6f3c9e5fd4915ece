// Package referencetest holds tests of the API reference in the assembled program.
//
// They are in a folder of their own because the tests inside package reference would make the program compile once more.
package referencetest
