// The order of search results: a method page or guide with the word in its title comes first, a copy of
// a source file last. The other numbers are Sphinx's own.
var Scorer = {
  score: ([page, title, anchor, descr, score]) => {
    if (page.startsWith("source/")) return score / 4;
    return /^(methods|guides)\//.test(page) && score >= 15 ? 4 * score : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
