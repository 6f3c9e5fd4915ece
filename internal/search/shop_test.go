package search_test

import (
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// shop are products and help pages of a shop, as their authors write them.
var shop = []document.Fields{
	{Title: "Bosch Series 4 dishwasher, 60 cm, white", Text: "Free-standing dishwasher for 13 place settings with half-load programme and water protection."},
	{Title: "Wi-Fi 6 router AX3000", Text: "Dual-band router with four antennas. Set up by app. Covers 120 square metres."},
	{Title: "Women's waterproof rain jacket, navy", Text: "Light jacket with taped seams and a hood that folds into the collar."},
	{Title: "Men's T-shirt, organic cotton, 3-pack", Text: "Crew neck, regular fit. Wash at 40 degrees."},
	{Title: "Cordless drill 18 V with two batteries", Text: "Brushless motor, 60 Nm, two gears and a case. Charger included."},
	{Title: "Toner TN-2420 black", Text: "For laser printers HL-L2310D and MFC-L2710DW. About 3,000 pages."},
	{Title: "USB-C charging cable, 2 m", Text: "Braided cable for phones and tablets, up to 60 W."},
	{Title: "Children's bicycle 16 inch, red", Text: "With training wheels, bell and chain guard, for children from four years on."},
	{Title: "Office chair with lumbar support", Text: "Adjustable armrests and seat height. Carries up to 120 kg."},
	{Title: "Espresso machine with milk frother", Text: "15 bar pump, 1.8 l water tank, removable drip tray."},
	{Title: "External SSD 1 TB", Text: "Portable drive with USB 3.2, up to 1,050 MB/s."},
	{Title: "LED light bulb E27, 9 W, warm white", Text: "Replaces a 60 W bulb. Not dimmable."},
	{Title: "Winter tyres 205/55 R16", Text: "Studless tyres for snow and ice. Price for one tyre without rim."},
	{Title: "Electric toothbrush with travel case", Text: "Three modes, timer, two brush heads."},
	{Title: "Garden hose 25 m with reel", Text: "Hose of 13 mm with spray nozzle and wall bracket."},
	{Title: "Smart thermostat for radiators", Text: "Sets the temperature by schedule. Works with Zigbee hubs."},
	{Title: "Return an item", Text: "You can send back anything within 30 days. Print the label in your account and drop the parcel at a post office."},
	{Title: "When will I get my money back?", Text: "Refunds arrive three to five working days after we have received the parcel."},
	{Title: "Forgotten password", Text: "Choose Reset password on the sign-in page. The link is valid for one hour."},
	{Title: "Change your delivery address", Text: "The address of an order can be changed until it is packed."},
	{Title: "Delivery times and shipping costs", Text: "Parcels take two days. Shipping is free from 50 euros on."},
	{Title: "Pay by invoice or instalments", Text: "Invoices are due after 14 days. Instalments need a credit check."},
	{Title: "Cancel an order", Text: "Open the order and choose Cancel. It is no longer possible once it has been shipped."},
	{Title: "Warranty and repairs", Text: "All devices have a guarantee of two years. Describe the fault and we send a shipping label."},
	{Title: "Gift cards", Text: "Enter the code of a voucher at the checkout. It is valid for three years."},
	{Title: "Log in with a second factor", Text: "Scan the code with an authenticator app to protect your account."},
	{Title: "Delete my account", Text: "Write to privacy@shop.example. Orders are kept for ten years by law."},
	{Title: "Business customers and VAT", Text: "Enter your VAT number to get invoices without tax."},
}

// typedInShop is what people type, with the number of the page that they mean.
var typedInShop = []struct {
	query string
	want  int
}{
	{"dish washer white", 0},
	{"wifi router", 1},
	{"rainjacket women", 2},
	{"tshirt men", 3},
	{"18v drill", 4},
	{"tn2420", 5},
	{"usbc cable", 6},
	{"kids bike", 7},
	{"childrens bike red", 7},
	{"ofice chair", 8},
	{"expresso machine", 9},
	{"1tb ssd", 10},
	{"lightbulb e27", 11},
	{"205/55r16", 12},
	{"tooth brush", 13},
	{"gardenhose", 14},
	{"termostat", 15},
	{"how do i return something", 16},
	{"refund how long", 17},
	{"reset pasword", 18},
	{"wrong delivery adress", 19},
	{"shiping cost", 20},
	{"pay later invoice", 21},
	{"canceling my order", 22},
	{"guarantee broken device", 23},
	{"giftcard code", 24},
	{"login", 25},
	{"privacy@shop.example", 26},
	{"vat-number", 27},
	{"hl l2310d", 5},
}

// Most of what people type in a shop finds the page that they mean first.
func TestAShopIsSearchedAsPeopleType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := make([]string, len(shop))
	for i, f := range shop {
		ids[i] = string(rune('a'+i/26)) + string(rune('a'+i%26))
		b.put(ids[i], f)
	}
	first, ten := 0, 0
	for _, q := range typedInShop {
		got := idsOf(b.find(search.Request{Query: q.query, Repair: true}))
		at := -1
		for i, id := range got {
			if id == ids[q.want] {
				at = i
			}
		}
		switch {
		case at == 0:
			first++
			ten++
		case at > 0:
			ten++
			t.Logf("%q finds it at %d", q.query, at+1)
		default:
			t.Logf("%q does not find it", q.query)
		}
	}
	if first < 25 || ten < 28 { // at first, 27 and 29
		t.Errorf("%d of %d are first, %d among the first ten", first, len(typedInShop), ten)
	}
}
