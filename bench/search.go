package main

func measureSearch(contest) error { return nil }
