package recall

import (
	"strings"

	"keepsake/internal/base/text"
)

// This file contains what the ranking knows about English. It does not affect other languages.

// idle are further stop words, in addition to those of internal/base/text.
var idle = setOf(`
	am being having doing done im i'm i've i'd i'll it's that's don't didn't doesn't isn't wasn't weren't haven't hasn't
	what's who's where's when's how's she's he's they're they've we're we've you're you've there's let's can't couldn't
	won't wouldn't shouldn't what're
	just also too very really quite while during because since until again more most much such only own same both each
	other another ever even still already yet though although however
	us mine yours hers ours theirs himself herself myself yourself themselves itself whom whose
	might must shall may going please`)

// weak are words of many questions that say little about the answer.
var weak = setOf(`
	like kind type sort name thing things many time times long often old far go went gone goes get got gets do make made
	take took have say said says mention mentioned happen happened happens recently currently current plan plans planning
	planned want wanted wants think thinks thought feel feels felt describe described share shared talk talked tell told
	use used start started first last new favorite favourite ones one use way ways some all someone something anything
	know knows give gave up out off over between before after now week month year day date`)

// First and second person: the speaker asks, or is asked.
var (
	firstPerson  = setOf(`i me my mine myself i'm i've i'd i'll we us our`)
	secondPerson = setOf(`you your yours yourself you're you've`)
	askers       = setOf(`user human me patient client customer`)
	asked        = setOf(`assistant ai bot agent coach advisor model`)
	assistants   = setOf(`assistant ai bot chatbot`)
)

// timeWords are the words of answers to "when".
var timeWords = setOf(`
	yesterday today tomorrow tonight ago last next week weeks weekend weekends month months year years monday tuesday
	wednesday thursday friday saturday sunday january february march april june july august september october november
	december morning afternoon evening since summer winter spring autumn birthday anniversary christmas easter thanksgiving`)

// tellWords are words of sentences that tell what is the case: who has what, what happened, when and why.
var tellWords = setOf(`
	i my i'm i've we our his her their because since after before when name named called live lives work works job
	born moved bought got went started began stopped quit joined met married found lost broke made took gave said told
	decided takes prefers needs wants allergic diagnosed always never every only until ago last yesterday monday tuesday
	wednesday thursday friday saturday sunday`)

// chatWords are words of small talk, which tells nothing that a question is about.
var chatWords = setOf(`
	haha hahaha lol wow oh ah aw hey hi hello bye goodbye thanks thank please sorry welcome congratulations congrats
	great nice cool awesome amazing wonderful lovely brilliant fantastic perfect glad sure yes yeah yep yup no nope okay
	ok right well really exactly indeed true sounds guess maybe luck enjoy you your you're anyway ha hm hmm`)

// regular maps forms that a stemmer cannot reduce to one term: irregular verbs and plurals, numbers in words, British
// spellings and short forms.
var regular = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(regularForms) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		base := words[0]
		if base[0] > '9' {
			base = text.Stem(base)
		}
		for _, form := range words[1:] {
			m[form] = base
		}
	}
	return m
}()

const regularForms = `
	go went gone
	buy bought
	get got gotten
	make made
	take took taken
	see saw seen
	meet met
	give gave given
	find found
	feel felt
	teach taught
	win won
	begin began begun
	write wrote written
	drive drove driven
	fly flew flown flies
	swim swam swum
	sing sang sung
	grow grew grown
	choose chose chosen
	eat ate eaten
	run ran
	come came
	become became
	know knew known
	think thought
	bring brought
	catch caught
	fight fought
	seek sought
	sell sold
	tell told
	say said
	pay paid
	lay laid
	lose lost
	keep kept
	sleep slept
	sweep swept
	weep wept
	spend spent
	send sent
	lend lent
	bend bent
	build built
	break broke broken
	speak spoke spoken
	steal stole stolen
	wake woke woken
	wear wore worn
	tear tore torn
	fall fell fallen
	draw drew drawn
	throw threw thrown
	blow blew blown
	ride rode ridden
	rise risen
	hide hid hidden
	bite bit bitten
	forget forgot forgotten
	forgive forgave forgiven
	freeze froze frozen
	hold held
	hear heard
	stand stood
	understand understood
	sit sat
	shoot shot
	stick stuck
	strike struck
	hang hung
	dig dug
	spin spun
	shine shone
	drink drank drunk
	ring rang rung
	sink sank sunk
	shrink shrank shrunk
	lead led
	feed fed
	bleed bled
	breed bred
	mean meant
	dream dreamt
	learn learnt
	burn burnt
	spell spelt
	spill spilt
	bear bore borne
	swear swore sworn
	show shown
	prove proven
	dive dove
	child children kids kid
	person people
	man men
	woman women
	foot feet
	tooth teeth
	mouse mice
	goose geese
	wife wives
	knife knives
	shelf shelves
	half halves
	loaf loaves
	wolf wolves
	color colour colours coloured colors colorful colourful
	favorite favourite favourites favorites fave
	flavor flavour flavours
	neighbor neighbour neighbours neighborhood neighbourhood
	honor honour honours
	behavior behaviour
	center centre centres
	theater theatre theatres
	gray grey
	mother mom mum mommy mummy mama moms mums
	father dad daddy papa dads
	grandmother grandma granny nana gran
	grandfather grandpa granddad
	traveling travelling
	traveled travelled
	canceled cancelled
	organize organise organised organising
	realize realise realised
	recognize recognise recognised
	program programme programmes
	tire tyre tyres
	jewelry jewellery
	pajamas pyjamas
	photo photograph photographs photos photographed pic pics picture pictures
	bike bicycle bicycles bikes biking cycling cycle cycled cyclist
	refrigerator fridge
	telephone phone phones phoned
	television tv telly
	doctor dr doc doctors
	veterinarian vet vets
	gymnasium gym
	mathematics math maths
	examination exam exams
	university uni
	laboratory lab labs
	airplane plane aeroplane planes
	okay ok
	2 two
	3 three
	4 four
	5 five
	6 six
	7 seven
	8 eight
	9 nine
	10 ten
	11 eleven
	12 twelve
	13 thirteen
	14 fourteen
	15 fifteen
	16 sixteen
	20 twenty
	30 thirty
	40 forty
	50 fifty
	100 hundred
	january jan
	february feb
	april apr
	august aug
	september sept sep
	october oct
	november nov
	december dec
	monday mon
	tuesday tue tues
	wednesday wed
	thursday thu thurs
	friday fri
`

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
