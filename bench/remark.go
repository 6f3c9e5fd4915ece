package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// common are the words of remarks. Some remarks also have names.
var common = strings.Fields(`the a to and of in is it that for was on with as at be by had her she he his they walk morning tea coffee
	sleep doctor sister brother weekend work garden music piano train holiday dinner breakfast run knee pain better worse again
	likes wants said asked planned started finished promised remembers forgot bought sold called visited met tired happy worried
	medicine dose evening week month year birthday party dog cat house kitchen window letter book film city river mountain`)

// remark returns a sentence of about twenty words, as a person says it.
func remark(random *rand.Rand) string {
	var b strings.Builder
	for range 12 + random.IntN(16) {
		if random.IntN(5) > 0 {
			b.WriteString(common[random.IntN(len(common))])
		} else {
			fmt.Fprintf(&b, "name%d", int(3000*random.Float64()*random.Float64()))
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// question returns a few words of some remark, among others.
func question(random *rand.Rand, texts []string) string {
	of := strings.Fields(texts[random.IntN(len(texts))])
	words := []string{"what", "about"}
	for range 4 {
		words = append(words, of[random.IntN(len(of))])
	}
	return strings.Join(words, " ")
}
