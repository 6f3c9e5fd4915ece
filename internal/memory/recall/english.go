package recall

import (
	"slices"
	"strings"

	"keepsake/internal/text"
)

// This file contains what the ranking knows about English. It does not affect other languages.

// idle are further stop words, in addition to those of internal/text.
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

// kin maps a term to terms with nearly the same meaning in everyday language. The words of a line are synonyms. With
// "words >", the first words include the others, which are not synonyms of each other: a question about a pet can mean a dog,
// but a question about a dog does not mean a cat. With "words >>", a question about one of the others does not mean the
// first ones, either.
var kin = func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(kinGroups) {
		head, covered, isA := strings.Cut(line, ">")
		terms := kinTerms(head)
		if isA {
			list, oneWay := strings.CutPrefix(covered, ">")
			for _, t := range kinTerms(list) {
				for _, whole := range terms {
					addKin(m, whole, t)
					if !oneWay {
						addKin(m, t, whole)
					}
				}
			}
			continue
		}
		for _, t := range terms {
			for _, other := range terms {
				addKin(m, t, other)
			}
		}
	}
	return m
}()

func kinTerms(words string) (terms []string) {
	for w := range strings.FieldsSeq(words) {
		if t, ok := regular[w]; ok {
			terms = append(terms, t)
		} else {
			terms = append(terms, text.Stem(w))
		}
	}
	return terms
}

func addKin(m map[string][]string, term, other string) {
	if term != other && !slices.Contains(m[term], other) {
		m[term] = append(m[term], other)
	}
}

const kinGroups = `
	child > son daughter baby toddler
	spouse > husband wife
	parent > mother father
	sibling > brother sister
	family > relative parents
	partner > boyfriend girlfriend husband wife
	job work profession occupation employment
	job > career position role
	boss manager supervisor
	colleague coworker teammate
	company employer firm
	salary pay wage income
	movie film
	show series
	book > novel
	read > book novel
	music > song band album concert
	instrument > guitar piano violin drums cello flute trumpet saxophone
	pet > dog cat puppy kitten hamster rabbit parrot
	dog puppy
	cat kitten
	animal > pet dog cat horse bird
	hobby pastime
	hobby > interest
	vacation holiday
	trip > travel vacation holiday journey getaway
	hotel > accommodation
	accommodation > hotel apartment
	fly > flight airplane airport
	vehicle > car truck van motorbike
	house home
	home > apartment
	apartment flat
	move relocate
	live > move home house apartment reside address
	contact > call email text write
	buy purchase
	purchase > order
	gift present
	begin start
	finish complete
	quit stop
	like love enjoy
	prefer > favorite like
	favorite > love
	hate dislike
	fear scared afraid phobia
	happy glad
	excited thrilled
	sad > depressed upset
	stress > pressure overwhelmed anxious
	anxiety anxious
	tired exhausted fatigue
	angry mad annoyed
	pain hurt ache sore
	ill sick
	illness disease
	doctor physician
	medicine medication drug
	medicine medication > pill tablet prescription dose
	allergy allergic
	allergic > intolerant
	injury injured
	injury > sprain hurt
	exercise workout
	exercise > gym training fitness yoga
	run jog jogging
	race > marathon
	hike > trail trek
	diet > vegetarian vegan
	food > meal dish
	eat > food meal breakfast lunch dinner
	drink > coffee tea wine beer juice beverage
	dinner supper
	restaurant > cafe diner
	cook > recipe bake
	dessert > cake pie
	therapy > counseling
	therapist counselor
	school > class
	university college
	class course
	study learn
	degree > graduate
	teacher instructor
	teacher > professor tutor
	test exam
	money > budget price
	price cost
	debt > loan mortgage
	phone mobile cell smartphone
	computer > laptop pc
	error bug
	problem issue
	repair fix
	refund reimburse
	cancel cancellation
	email mail
	parcel package
	delivery > shipping
	appointment > meeting visit consultation checkup
	appointment >> check
	schedule > calendar
	party celebration
	celebrate > party
	wedding marry
	born birthday
	friend buddy pal
	art > painting drawing artwork sculpture
	paint > painting art
	photo > camera photography image
	garden > plant flowers
	flower > roses tulip sunflowers
	sport > soccer football basketball tennis
	soccer football
	beach > ocean sea
	ocean sea
	mountain > peak
	forest woods
	camp > tent
	country nation
	city town
	live reside
	volunteer > charity
	help assist
	advice > tip suggestion recommendation
	suggest recommend
	goal aim
	decide > decision
	win > award prize
	award prize
	adopt adoption
	religion > church faith
	nickname > name called
	color > red blue green yellow purple orange pink
	clothes clothing
	clothes > shirt dress outfit shoes
	symbol > symbolize represent
	symbolize represent
	motivate inspire
	inspiration > inspire motivate
	relax unwind
	game > gaming videogame
	shop store
	business > venture startup
	event > conference workshop
	noise > loud
	weather > rain storm snow
	activity hobby >> hike camp swim paint pottery run dance cook garden yoga fish climb ski surf kayak knit photography read
	event >> parade conference concert festival workshop party wedding fundraiser exhibition gala competition tournament show
	outdoors outdoor nature >> hike camp mountain beach forest lake park trail river
	country >> america france spain italy germany england ireland scotland portugal greece turkey poland sweden norway
	country >> denmark finland netherlands belgium austria switzerland russia china japan korea thailand vietnam india
	country >> indonesia australia canada mexico brazil argentina peru chile egypt morocco kenya israel iceland
	city >> london paris rome berlin madrid barcelona lisbon vienna amsterdam dublin tokyo seoul sydney toronto chicago
	city >> boston seattle miami dallas austin denver francisco angeles york vegas orleans bangkok istanbul prague
	state >> california florida texas oregon colorado michigan minnesota arizona alaska hawaii virginia georgia ohio
	food meal dish cuisine >> pizza pasta salad soup sandwich burger chicken fish steak rice sushi tacos curry noodles bread
	dessert snack sweet >> cake cookies brownies pie pastry pudding chocolate muffin cupcakes candy
	sport >> soccer football basketball tennis baseball hockey golf volleyball swim rugby cricket boxing
	car vehicle >> toyota ford honda tesla jeep bmw audi volkswagen mustang prius
	profession occupation career job >> nurse engineer chef lawyer designer writer actor musician accountant programmer
	pet animal >> turtle snake hamster fish rabbit horse bird parrot lizard
	genre >> jazz rock pop classical folk blues fantasy thriller romance mystery
	season >> summer winter spring autumn
	symptom >> headache cough fever nausea dizziness dizzy rash pain fatigue
	medicine medication drug >> ibuprofen aspirin metformin insulin antibiotics paracetamol vitamin
	emotion feeling feel >> happy sad proud nervous excited anxious grateful scared angry relieved
	relative family >> mother father sister brother aunt uncle cousin grandmother grandfather son daughter
	furniture >> sofa couch table chair bed desk shelf
	device gadget >> phone laptop tablet camera headphones
	accident crash collision
	luggage baggage suitcase
	luggage > bag backpack
	rent rental lease
	tenant renter
	headache migraine
	caffeine >> coffee espresso cola
	alcohol >> wine beer whisky gin vodka
	contest competition tournament
	medal trophy
	award > medal trophy
	injury > fracture broken ligament wound cut bruise
	fracture broken
	surgery operation
	nurse carer caregiver
	sleep nap asleep
	sleep > insomnia
	awake wake
	age > old
	neighborhood area district
	street road lane avenue
	address > street road
	oven stove cooker
	heating boiler radiator heater
	electricity power
	rug carpet
	sofa couch settee
	wardrobe closet
	rubbish trash garbage
	motorbike motorcycle
	train railway
	boat ship ferry
	harbor port
	bill invoice
	fee charge
	discount reduction
	lend loan borrow
	save savings
	membership subscription
	password login
	upgrade update
	broken faulty defect damaged
	replace replacement swap exchange
	complain complaint
	customer client
	deadline due
	promotion promoted raise
	fired dismissed sacked
	resign quit
	presentation speech lecture
	essay thesis assignment homework
	grade mark score result
	pupil student
	nursery kindergarten daycare
	newborn baby infant
	pregnant pregnancy expecting
	engaged engagement
	divorce separated
	died death funeral
	quarrel argument fight dispute
	apologize apology sorry
	intend plan
	own have
	receive get
	lesson class
	sing singer choir song
	concert gig
	theater play drama
	museum gallery exhibition
	sew knit crochet
	pottery ceramics clay
	writer author
	newspaper magazine
	story tale
	swim pool
	ski snowboard
	trainer coach
	match game
	team club
	snack treat
	treat >> chocolate candy cake cookies
	taste flavor
	fruit >> apple pear banana orange lemon grape cherry plum strawberry raspberry peach
	vegetable >> carrot potato tomato onion pepper spinach cabbage bean pea cucumber lettuce
	meat >> beef pork lamb chicken ham sausage bacon
	nut >> peanut almond cashew walnut hazelnut pistachio
	seafood >> shrimp crab lobster mussel oyster
	insect >> bee wasp ant mosquito spider
	bee honey hive
	rescue shelter
	allotment garden
	noise sound
	smell odor scent
	cold chilly freezing
	warm hot heat
	wet damp
	thief steal stolen theft robbery burglary
	lost missing
	glasses spectacles
	tooth > dentist
	vision sight eye
	rash eczema
	diabetes insulin
	asthma inhaler
	dizzy faint
	fall tripped
	vaccine vaccination jab
	dose dosage
	nightmare dream
	remember memory
	lonely alone
	ashamed embarrassed
	jealous envy
	worried worry anxious concern
	calm peaceful
	surprised shocked
	bored boring
	funny joke
	cry tears
	annual yearly
	frequently often
	rarely seldom
	usually normally
	recently lately
	allow permit permission
	forbid ban
	rule regulation
	lawyer attorney solicitor
	contract agreement
	sign signature
	apply application
	language >> spanish french german italian portuguese russian arabic chinese japanese korean
	speak talk
	conversation chat
	letter note message
	guest visitor
	invite invitation
	decorate decoration
	build builder construction
	renovate renovation builder
	lift elevator
	cheap inexpensive
	expensive costly
	clean tidy
	laundry wash
	haircut hairdresser barber
	jewelry >> ring necklace bracelet earrings
	bag handbag purse
	shoe >> boot sandal sneaker
	coat jacket
	sweater jumper pullover
	annoy irritate
	speech speaking
	reason because
	cause trigger
	avoid refuse
	rescue save
	nickname title
	habit routine
	symptom >> numb itchy swelling swollen vomiting sneezing
	body >> shoulder knee back hip ankle wrist elbow neck foot
	collect pick
	rental >> hire
	promise agree
	injured hurt
	taught teacher lesson
	diet > food
	procedure operation surgery
	instrument >> harp banjo ukulele clarinet accordion
	vehicle >> tractor bus tram train scooter
	tool >> hammer drill saw ladder
	material >> wood wool cotton leather silk glass clay metal
	weather >> sunny cloudy windy fog
	boat >> canoe kayak sail
	print printer
	printer > toner ink
	screen monitor display
	cable wire cord
	internet wifi network
	internet > router
	file document
	delete remove erase
	install installation setup
	restart reboot
	virus malware
	app software program
	battery > charger
	charge charger
	access permission
	blocked locked
	slow lag
	backup copy
	bath shower
	crutch stick cane
	wheelchair > walker
	appetite hunger hungry
	thirst thirsty
	fever temperature
	confused confusion
	dementia alzheimer
	restless agitated
	handover shift
	deaf hearing
	denture teeth
	scan xray mri
	referral specialist
	specialist >> cardiologist dermatologist neurologist surgeon
	organ >> heart liver kidney lung stomach
	breath breathing
	physio physiotherapy physiotherapist
	pulse heartbeat
	stopover layover
	reservation booking
	reserve book
	accommodation >> hostel inn guesthouse lodge
	currency >> euro dollar pound yen franc
	itinerary route
	guide tour
	holiday > christmas easter
	abroad overseas
	island > beach
	scholarship grant
	dorm dormitory
	roommate flatmate
	semester term
	subject major
	subject >> physics chemistry biology history geography economics
	graduation degree
	internship placement
	intern trainee apprentice
	hire recruit
	department team
	director ceo chairman head
	delay postpone
	delayed late
	launch release
	warehouse depot
	workplace office
	niece nephew > sibling
	baptism christening
	chore housework
	toy > doll lego puzzle
	teenager adolescent
	twin > sibling
	recipe dish
	bake oven
	ingredient >> flour sugar butter egg salt yeast
	spice >> cinnamon pepper ginger saffron cumin
	herb >> basil parsley mint thyme rosemary
	drink >> lemonade cocoa milk water smoothie
	breakfast >> porridge cereal toast
	container >> box jar bottle bag bucket
	footwear shoe
	fabric cloth material
	season >> monsoon
	sea >> atlantic pacific mediterranean baltic
	river >> rhine danube thames nile
	mountain >> alps andes himalaya
	planet >> mars venus jupiter saturn
	star > telescope
	telescope > stars astronomy
	microscope > lab
	camera > lens photo
	saving > fund
	bank > account
	tax > income
	retire retirement pension
	inherit inheritance
	donate donation charity
	crowd audience
	applause clap
	stage > theater concert
	actor actress
	director > film
	band > drummer singer guitarist
	practice rehearsal rehearse
	tune song melody
	poem poetry poet
	diary journal
	chapter book
	translate translation
	fluent > speak
	accent > speak
	nervous anxious
	brave courage
	clever smart intelligent
	lazy idle
	strict stern
	polite rude
	generous kind
	patient calm
	superstition > lucky
	luck lucky
	bet wager
	prank joke
	disguise costume
	hat helmet
	umbrella rain
	lamp light
	candle light
	curtain blind
	pillow cushion
	blanket duvet
	mattress bed
	fridge freezer
	dishes dishwasher
	vacuum clean
	tap faucet
	pipe leak
	basement cellar
	attic loft
	balcony terrace
	yard garden
	fence hedge
	lawn grass
	seed sow
	harvest crop
	tomato > garden
	weed garden
	compost soil
	pest > mouse rat slug snail aphid
	chicken hen rooster
	horse pony
	leash lead
	kennel shelter
	nest bird
	bird >> heron owl robin sparrow eagle swan duck goose crow pigeon
	tree >> oak pine birch apple maple willow
	flower >> lily daisy orchid lavender peony
	dog breed >> beagle poodle greyhound labrador terrier spaniel dachshund collie
	cat >> tabby siamese
	gem stone > ruby emerald sapphire pearl diamond
	metal >> gold silver copper iron steel bronze
	hospital > ward
	ambulance emergency
	emergency > ambulance
	blood > bleeding
	stitches sewn
	cramp spasm
	itch rash
	hay pollen
	lactose milk dairy
	dairy >> milk cheese yogurt butter cream
	salt salty
	vegan vegetarian
	religion >> muslim christian jewish buddhist hindu
	priest pastor vicar
	pray prayer
	vote election
	mayor council
	soldier army
	war veteran
	crime > theft robbery murder
	prison jail
	evidence proof
	ghost haunted
	parking park
	petrol gas fuel
	brake pedal
	license licence
	queue line
	ticket fare
	platform track
	pilot captain crew
	tent camp
	rope climb
	boot hike
	compass map
	summit peak
	snow ski
	wave surf
	dive diving
	marathon run
	goal score
	referee umpire
	stadium arena
	opponent rival
	training practice
	muscle strength
	stretch yoga
	bike > helmet
	kilometer mile distance
	weigh weight
	measure size
	hour minute
	century decade
	noon midday
	dawn sunrise
	dusk sunset
	weekday > monday tuesday wednesday thursday friday
	clothes clothing >> jacket coat jeans sweater hat
`

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
