package recall

import (
	"maps"
	"strings"
	"time"

	"keepsake/internal/base/text"
)

// lexicon contains what the ranking knows about a language in addition to its stems and stop words. Words are folded.
type lexicon struct {
	tells     map[string]bool
	chats     map[string]bool
	times     map[string]bool       // of answers to "when"
	questions map[string]marks      // what an answer to a question with a word, or two adjacent words, contains
	months    map[string]time.Month // without those that are English, too
	weekdays  map[string]time.Weekday
	days      map[string]int  // words such as "yesterday", by their distance from today
	of        map[string]bool // words between a day, a month and a year
	capitals  bool            // a capital letter within a sentence begins a name
}

// lexicons are by language. For a language without one, the signals that need it are silent.
var lexicons = func() (list [text.Languages]lexicon) {
	for l := range list {
		list[l].capitals = text.Language(l) != text.German
	}
	e := &list[text.English]
	e.tells, e.chats, e.times = tellWords, chatWords, timeWords
	add := func(l text.Language, months, weekdays, days, of, times, questions, numbers, tells, chats string) {
		x := &list[l]
		x.months, x.weekdays, x.days = map[string]time.Month{}, map[string]time.Weekday{}, map[string]int{}
		for i, names := range strings.Split(months, "/") {
			for name := range strings.FieldsSeq(names) {
				x.months[name] = time.Month(i + 1)
			}
		}
		for i, names := range strings.Split(weekdays, "/") {
			for name := range strings.FieldsSeq(names) {
				x.weekdays[name] = time.Weekday(i)
			}
		}
		for i, name := range strings.Fields(days) {
			x.days[name] = i - 1
		}
		x.of, x.tells, x.chats = setOf(of), setOf(tells), setOf(chats)
		x.times = setOf(times + " " + days)
		for name := range maps.Keys(x.months) {
			x.times[name] = true
		}
		for name := range maps.Keys(x.weekdays) {
			x.times[name] = true
		}
		x.questions = map[string]marks{}
		for q := range strings.SplitSeq(questions, ",") {
			x.questions[strings.TrimSpace(q)] |= hasTime
		}
		for q := range strings.SplitSeq(numbers, ",") {
			x.questions[strings.TrimSpace(q)] |= hasNumber
		}
	}
	add(
		text.German,
		"januar janner/februar/marz/april/mai/juni/juli/august/september/oktober/november/dezember",
		"sonntag sonntags/montag montags/dienstag dienstags/mittwoch mittwochs/donnerstag donnerstags/freitag freitags/samstag samstags sonnabend",
		"gestern heute morgen", "im am vom",
		"vorgestern ubermorgen woche wochen monat monate monaten jahr jahre jahren tag tage tagen letzte letzten letztes nachste nachsten nachstes seit fruhling sommer herbst winter weihnachten ostern geburtstag uhr vormittag nachmittag abend",
		"wann, seit wann, bis wann, an welchem, welchem tag, welchem monat, welchem jahr, wie lange, wie alt",
		"wieviel, wieviele, wie viel, wie viele, wie oft, wie lange, wie alt, wie hoch, wie schwer",
		"ich mein meine meinem meinen meiner wir unser unsere sein seine ihr ihre weil seit nachdem bevor heisst wohnt wohne lebt lebe arbeitet arbeite gekauft gekriegt bekommen bekam angefangen aufgehort verheiratet gefunden verloren kaputt gemacht gegeben gesagt entschieden nimmt nehme braucht will mag allergisch immer nie jeden jede nur bis letzte letzten gestern montag dienstag mittwoch donnerstag freitag samstag sonntag",
		"haha hihi oh ach na naja hallo hi hey moin guten tschuss danke bitte gern gerne sorry entschuldigung willkommen gluckwunsch toll super schon schade prima klasse wunderbar fantastisch perfekt klar ja nein doch nee genau stimmt richtig wirklich echt okay ok vielleicht gluck spass du dein deine dir",
	)
	add(
		text.French,
		"janvier/fevrier/mars/avril/mai/juin/juillet/aout/septembre/octobre/novembre/decembre",
		"dimanche/lundi/mardi/mercredi/jeudi/vendredi/samedi",
		"hier aujourd'hui demain", "en le de du",
		"semaine semaines mois an ans annee annees jour jours dernier derniere prochain prochaine depuis printemps ete automne hiver noel paques anniversaire heure heures matin soir midi avant-hier",
		"quand, depuis quand, quel jour, quelle date, quel mois, quelle annee, quelle heure, combien de temps, quel age",
		"combien, combien de, quel age, quel prix",
		"je j'ai mon ma mes nous notre nos son sa ses leur leurs parce car depuis apres avant appelle habite habitait vit travaille achete recu commence arrete marie marie trouve perdu casse fait donne dit decide prend besoin veut prefere allergique toujours jamais chaque seulement jusqu'a dernier derniere hier lundi mardi mercredi jeudi vendredi samedi dimanche",
		"haha ah oh eh ben bah salut bonjour bonsoir coucou revoir merci plait pardon desole desolee bienvenue felicitations bravo super genial cool chouette magnifique formidable parfait tant mieux oui non si ouais ok d'accord bien sur vraiment exactement vrai peut-etre chance tu ton ta tes toi vous",
	)
	add(
		text.Spanish,
		"enero/febrero/marzo/abril/mayo/junio/julio/agosto/septiembre setiembre/octubre/noviembre/diciembre",
		"domingo domingos/lunes/martes/miercoles/jueves/viernes/sabado sabados",
		"ayer hoy manana", "en el de del",
		"anteayer semana semanas mes meses ano anos dia dias pasado pasada proximo proxima desde primavera verano otono invierno navidad pascua cumpleanos hora horas tarde noche mediodia",
		"cuando, desde cuando, que dia, que fecha, que mes, que ano, que hora, cuanto tiempo, que edad",
		"cuanto, cuanta, cuantos, cuantas, cuanto tiempo, que edad, que precio",
		"yo mi mis nuestro nuestra su sus porque desde despues antes llama llamo vive vivo trabaja trabajo compro compre recibio recibi empezo empece dejo deje caso encontro encontre perdio perdi rompio hizo hice dio dijo decidio toma necesita quiere prefiere alergico alergica siempre nunca cada solo hasta pasado pasada ayer lunes martes miercoles jueves viernes sabado domingo",
		"jaja jajaja ay oh ah hola buenas buenos adios gracias favor perdon siento bienvenido bienvenida felicidades enhorabuena genial estupendo bonito vaya perfecto guay maravilloso claro si no vale ok bueno bien verdad exacto seguro quizas suerte tu tus ti te usted",
	)
	add(
		text.Italian,
		"gennaio/febbraio/marzo/aprile/maggio/giugno/luglio/agosto/settembre/ottobre/novembre/dicembre",
		"domenica/lunedi/martedi/mercoledi/giovedi/venerdi/sabato",
		"ieri oggi domani", "in il di del",
		"settimana settimane mese mesi anno anni giorno giorni scorso scorsa prossimo prossima fa primavera estate autunno inverno natale pasqua compleanno ora ore mattina sera pomeriggio mezzogiorno",
		"quando, da quando, che giorno, che data, che mese, che anno, che ora, quanto tempo, quanti anni",
		"quanto, quanta, quanti, quante, quanto tempo, quanti anni",
		"io mio mia miei mie nostro nostra suo sua suoi sue loro perche da dopo prima chiama chiamo vive vivo abita abito lavora lavoro comprato ricevuto cominciato iniziato smesso sposato trovato perso rotto fatto dato detto deciso prende bisogno vuole preferisce allergico allergica sempre mai ogni solo fino scorso scorsa ieri lunedi martedi mercoledi giovedi venerdi sabato domenica",
		"ahah haha oh ah eh beh ciao salve buongiorno buonasera arrivederci grazie prego favore scusa scusi dispiace benvenuto congratulazioni auguri bravo brava bello bella fantastico splendido perfetto meno male certo si no va bene ok vero davvero esatto giusto forse fortuna tu tuo tua ti te lei",
	)
	add(
		text.Portuguese,
		"janeiro/fevereiro/marco/abril/maio/junho/julho/agosto/setembro/outubro/novembro/dezembro",
		"domingo domingos/segunda segunda-feira/terca terca-feira/quarta quarta-feira/quinta quinta-feira/sexta sexta-feira/sabado sabados",
		"ontem hoje amanha", "em o de do",
		"anteontem semana semanas mes meses ano anos dia dias passado passada proximo proxima desde ha primavera verao outono inverno natal pascoa aniversario hora horas manha tarde noite",
		"quando, desde quando, que dia, que data, que mes, que ano, que horas, quanto tempo, que idade",
		"quanto, quanta, quantos, quantas, quanto tempo, que idade",
		"eu meu minha meus minhas nosso nossa seu sua seus suas porque desde depois antes chama chamo vive vivo mora moro trabalha trabalho comprou comprei recebeu recebi comecou comecei parou parei casou encontrou encontrei perdeu perdi partiu fez fiz deu disse decidiu toma precisa quer prefere alergico alergica sempre nunca cada so ate passado passada ontem segunda terca quarta quinta sexta sabado domingo",
		"haha kkk ah oh eh ola oi tchau adeus obrigado obrigada favor desculpa desculpe bem-vindo parabens otimo optimo legal fixe giro lindo maravilhoso perfeito que bom claro sim nao ok bem verdade exatamente exato certo talvez sorte tu teu tua ti te voce",
	)
	add(
		text.Dutch,
		"januari/februari/maart/april/mei/juni/juli/augustus/september/oktober/november/december",
		"zondag zondags/maandag maandags/dinsdag/woensdag/donderdag/vrijdag/zaterdag",
		"gisteren vandaag morgen", "in op de van",
		"eergisteren overmorgen week weken maand maanden jaar jaren dag dagen vorige vorig afgelopen volgende volgend geleden sinds lente zomer herfst winter kerst pasen verjaardag uur ochtend middag avond",
		"wanneer, sinds wanneer, welke dag, welke datum, welke maand, welk jaar, hoe laat, hoe lang, hoe oud",
		"hoeveel, hoe vaak, hoe lang, hoe oud, hoe duur, hoe zwaar",
		"ik mijn m'n wij we ons onze zijn haar hun omdat sinds nadat voordat heet woont woon werkt werk gekocht gekregen begonnen gestopt getrouwd gevonden verloren kapot gemaakt gegeven gezegd besloten neemt neem nodig wil liever allergisch altijd nooit elke elk alleen tot vorige gisteren maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
		"haha oh ach nou hoi hallo hey goedemorgen goedendag doei dag dank bedankt dankjewel alsjeblieft graag sorry welkom gefeliciteerd leuk mooi fijn gaaf geweldig prachtig heerlijk super perfect gelukkig ja nee jawel oke ok precies klopt echt zeker misschien succes jij je jouw u uw",
	)
	return list
}()
