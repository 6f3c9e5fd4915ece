// Package consoletest holds tests of the console in the assembled program, most of them in a browser.
//
// They are in a folder of their own because the tests inside package console would make the program compile once more.
package consoletest
