/** What the server says, in English and in German; "{}" stands for what differs. Whole sentences stand before their parts. */
/** @type {[english: string, german: string][]} */
export const said = [
  // Answers
  [
    "The documents do not hold an answer to this question.",
    "Die Dokumente enthalten keine Antwort auf diese Frage.",
  ],
  [
    "The documents may not say this outright. The closest passages:",
    "Vielleicht steht es so nicht in den Dokumenten. Die ähnlichsten Stellen:",
  ],
  ["What came nearest stands in", "Am nächsten kommt"],
  [
    "No passage of them fulfils the condition that was given:",
    "Keine Textstelle erfüllt die gestellte Bedingung:",
  ],
  [
    "Only passages that fulfil the condition were searched:",
    "Durchsucht wurden nur Textstellen, die die Bedingung erfüllen:",
  ],
  ["I searched {} documents, also for", "Durchsucht wurden {} Dokumente, auch nach"],
  ["I searched the documents, also for", "Durchsucht wurden die Dokumente, auch nach"],
  ["I searched one document, also for", "Durchsucht wurde ein Dokument, auch nach"],
  ["{} of {} documents, by how they begin:", "{} von {} Dokumenten, mit ihrem Anfang:"],
  ["Of {} speakers that were read,", "Von {} Stimmen, die gelesen wurden:"],
  ["and {} take no clear side", "und {} ohne klare Seite"],
  ["and {} takes no clear side", "und {} ohne klare Seite"],
  ["none takes a clear side", "keine mit klarer Seite"],
  ["and {} are against it", "und {} dagegen"],
  ["and {} is against it", "und {} dagegen"],
  ["{} are for it", "{} dafür"],
  ["{} is for it", "{} dafür"],
  ["{} are against it", "{} dagegen"],
  ["{} is against it", "{} dagegen"],
  ["Benefits and arguments for", "Vorteile und Argumente dafür"],
  ["Risks and arguments against", "Risiken und Argumente dagegen"],
  // Why
  ["models.steps leaves it to the local way", "dieser Schritt wird ohne Modell gemacht (models.steps)"],
  ["the server's log says why", "das Protokoll des Servers sagt, warum"],
  [
    "analytical questions are scored by what their branches found",
    "analytische Fragen werden nach den Funden ihrer Teilfragen bewertet",
  ],
  ["no chat model is configured", "es ist kein Sprachmodell eingerichtet"],
  [
    "a model classifies every question (the router: {})",
    "ein Modell ordnet jede Frage ein (die Einordnung: {})",
  ],
  [
    "the model's reply named no type, so routing.fallback decided",
    "die Antwort des Modells nannte keine Art, also entschied routing.fallback",
  ],
  ["the model did not decide", "das Modell entschied nicht"],
  ["the model decided", "das Modell entschied"],
  ["the router was", "die Einordnung war"],
  [
    "nothing was said before it and nobody says who asks, so it is",
    "davor wurde nichts gesagt, und niemand sagt, wer fragt, also gilt sie als",
  ],
  ["the asker says who asks, so it is contextual", "gesagt ist, wer fragt, also zählt die Situation"],
  [
    "its words ask for an analysis rather than a fact",
    "ihre Wörter fragen eher nach einer Analyse als nach einem Faktum",
  ],
  ["nothing is searched: this is {}", "es wird nichts gesucht: {}"],
  ["the caller fixed the route to", "der Weg war vorgegeben:"],
  ["without analysis every question goes to factual", "ohne Analyse gilt jede Frage als Faktenfrage"],
  ["without the hedge {} alone is run", "ohne Absicherung wird nur {} genommen"],
  ["it stands alone in the conversation", "sie steht im Gespräch für sich"],
  ["points back at the conversation", "verweist auf das Gespräch"],
  ["points at the user's context", "verweist auf die eigene Situation"],
  ["an instruction about its own type was set aside", "eine Anweisung zur eigenen Art wurde übergangen"],
  [
    "it has a reference without antecedent ({}) and there is no history",
    "sie verweist auf etwas ({}), das nicht genannt wurde",
  ],
  ["the question tells it of the asker", "die Frage sagt es selbst"],
  ["the question leans on what was said before it", "die Frage stützt sich auf das zuvor Gesagte"],
  ["no passage holds the one, and the other is", "keine Textstelle enthält das eine, und das andere ist"],
  [
    "no passage holds the one, the other finds better passages, and the other is",
    "keine Textstelle enthält das eine, mit dem anderen findet sich Besseres, und das andere ist",
  ],
  [
    "is {}, but finds no clearly better passages",
    "ist {}, aber damit findet sich nichts deutlich Besseres",
  ],
  [
    "the best hit by words stands {} above its rivals",
    "der beste Treffer nach Wörtern liegt {} über den anderen",
  ],
  [
    "too few passages hold the question's words to compare them",
    "zu wenige Textstellen enthalten die Wörter der Frage, um sie zu vergleichen",
  ],
  ["in the domain", "im Fachgebiet"],
  ["BM25Okapi scored all {} chunks", "BM25Okapi hat alle {} Textstellen bewertet"],
  ["TF-IDF counts {} of the score by words", "TF-IDF macht {} der Bewertung nach Wörtern aus"],
  ["set by the caller", "vorgegeben"],
  ["no analysis: both count the same", "keine Analyse: beides zählt gleich"],
  ["by intent and domain:", "nach Absicht und Fachgebiet:"],
  ["opinions share few words", "Meinungen haben wenige Wörter gemeinsam"],
  ["the table has no alpha for a {} question", "die Tabelle hat kein Alpha für diese Art Frage ({})"],
  [
    "{} of what is known besides the question are earlier turns, the rest the user's need",
    "{} dessen, was außer der Frage bekannt ist, stammen aus dem Gespräch, der Rest ist der eigene Bedarf",
  ],
  [
    "with it the question is further from every passage",
    "damit ist die Frage von jeder Textstelle weiter entfernt",
  ],
  [
    "of {} passages, {} speak for it, {} against it",
    "von {} Textstellen sprechen {} dafür, {} dagegen",
  ],
  ["so none speaks {}", "also spricht keine {}"],
  ["what fits into {} tokens, at most {} passages", "was in {} Tokens passt, höchstens {} Textstellen"],
  [
    "the least that is read, of more than {} tokens",
    "das Mindeste, das gelesen wird, bei mehr als {} Tokens",
  ],
  ["the least that is read", "das Mindeste, das gelesen wird"],
  ["no more were found", "mehr wurden nicht gefunden"],
  ["the others score under", "die anderen liegen unter"],
  ["more would exceed {} tokens", "mehr würde {} Tokens überschreiten"],
  [
    "{} of {} chunks overlap, and no text is read twice",
    "{} von {} Textstellen überschneiden sich, und kein Text wird zweimal gelesen",
  ],
  ["for the user's situation", "für die Situation"],
  ["{} passages, as the branches found them", "{} Textstellen, wie die Teile sie fanden"],
  [
    "it was asked in the step before the search, while the query was prepared",
    "es wurde vor der Suche gefragt, während die Anfrage entstand",
  ],
  ["the model's choice", "die Wahl des Modells"],
  ["{} of {} passages replace more relevant ones", "{} von {} Textstellen ersetzen treffendere"],
  [
    "these are the most relevant passages, in another order",
    "es sind die treffendsten Textstellen, anders geordnet",
  ],
  [
    "it changed nothing: these are the most relevant passages",
    "ohne Wirkung: es sind die treffendsten Textstellen",
  ],
  ["no readable sentence was found", "es wurde kein lesbarer Satz gefunden"],
  [
    "no reader judged the passages; the nearest sentence has a cosine of",
    "nichts hat die Textstellen beurteilt; der nächste Satz hat einen Kosinus von",
  ],
  [
    "how likely the passages answer: {}; {} is needed for an answer",
    "wie wahrscheinlich die Textstellen antworten: {}; für eine Antwort sind {} nötig",
  ],
  [
    "how likely the passages answer: {}; {} is needed for the closest passages to be shown",
    "wie wahrscheinlich die Textstellen antworten: {}; für die ähnlichsten Stellen sind {} nötig",
  ],
  [
    "quoted by nearness alone: the usual way to answer failed",
    "nur nach Nähe zitiert: der übliche Weg zur Antwort schlug fehl",
  ],
  [
    "it asks nothing of the documents, so nothing was searched",
    "sie fragt nichts von den Dokumenten, also wurde nichts gesucht",
  ],
  [
    "the chat model says that the passages do not hold it",
    "das Sprachmodell sagt, dass die Textstellen es nicht enthalten",
  ],
  ["no sentence that was read can be quoted", "kein gelesener Satz kann zitiert werden"],
  [
    "the answer's first line says that it gives the closest passages",
    "die erste Zeile sagt, dass es die ähnlichsten Stellen sind",
  ],
  ["no passage has these numbers", "keine Textstelle hat diese Nummern"],
  [
    "links lead to the documents' own addresses alone, and images are left out",
    "Verweise führen nur zu Adressen aus den Dokumenten, und Bilder entfallen",
  ],
  [
    "an answer has at most {} sentences; {} more were left out",
    "eine Antwort hat höchstens {} Sätze; {} weitere entfielen",
  ],
  ["no sentence of the passages is close enough", "kein Satz der Textstellen kommt nahe genug"],
  ["no passage is close", "keine Textstelle kommt nahe"],
  ["nothing found", "nichts gefunden"],
  ["it failed:", "es schlug fehl:"],
  // Conditions
  ["cannot be read at its end.", "lässt sich am Ende nicht lesen."],
  ["cannot be read at", "lässt sich nicht lesen ab"],
  ["A condition is made of fields,", "Eine Bedingung besteht aus Feldern,"],
  ["No passage has the field {}.", "Keine Textstelle hat das Feld {}."],
  ["Did you mean", "Meinten Sie"],
  ["The fields are:", "Die Felder sind:"],
  ["The field {} holds numbers: expected one, got", "Das Feld {} enthält Zahlen. Erwartet wird eine, nicht"],
  [
    "The field {} holds dates: expected one such as 2024-03-01, 2024-03 or 2024, got",
    "Das Feld {} enthält Daten. Erwartet wird eines wie 2024-03-01, 2024-03 oder 2024, nicht",
  ],
  [
    "The field {} is yes or no: expected one of them, got",
    "Das Feld {} enthält yes oder no. Erwartet wird eines davon, nicht",
  ],
  [
    "The field {} is yes or no: compare it with = or !=, not with {}.",
    "Das Feld {} enthält yes oder no: Vergleichen Sie es mit = oder !=, nicht mit {}.",
  ],
  [
    "These documents and the condition are too many to be searched by name: {} characters, at most {} are taken. Choose fewer, or their folder.",
    "Diese Dokumente und die Bedingung sind zu viele, um sie einzeln zu durchsuchen: {} Zeichen, höchstens {} sind erlaubt. Wählen Sie weniger, oder ihren Ordner.",
  ],
  [
    "One of these collections does not exist, or is not open to you. Nothing was asked.",
    "Eine dieser Sammlungen gibt es nicht, oder sie ist für Sie nicht freigegeben. Es wurde nichts gefragt.",
  ],
  [
    "has no documents to search yet. Leave it out.",
    "enthält noch keine Dokumente, die durchsucht werden können. Lassen Sie die Sammlung weg.",
  ],
  // Documents that could not be read, or not wholly
  ["asks for a password. Save it without one", "verlangt ein Passwort. Speichern Sie es ohne"],
  ["asks for a password. Unpack it yourself", "verlangt ein Passwort. Entpacken Sie es selbst"],
  ["is empty: it has 0 bytes", "ist leer: 0 Bytes"],
  ["holds no text", "enthält keinen Text"],
  ["holds no file", "enthält keine Datei"],
  [
    "is not a PDF, though its name says so. Give it the ending of its own kind",
    "ist kein PDF, obwohl der Name es sagt. Geben Sie der Datei die Endung ihrer Art",
  ],
  [
    "is damaged, or no archive of its kind. Pack it again",
    "ist beschädigt oder kein Archiv dieser Art. Packen Sie es neu",
  ],
  [
    "is damaged, or no image of the kind that its name says. Save it anew",
    "ist beschädigt oder kein Bild dieser Art. Speichern Sie es neu",
  ],
  ["is damaged: no page can be read from it", "ist beschädigt: keine Seite lässt sich lesen"],
  ["is damaged", "ist beschädigt"],
  ["Save it anew", "Speichern Sie es neu"],
  ["shows no words that can be read", "zeigt keine lesbaren Wörter"],
  ["cannot be read", "lässt sich nicht lesen"],
  ["is not of a kind that is read", "ist von einer Art, die nicht gelesen wird"],
  ["could not be fetched", "ließ sich nicht abrufen"],
  [
    "did not answer within {} seconds. Try again later",
    "antwortete nicht binnen {} Sekunden. Versuchen Sie es später noch einmal",
  ],
  [
    "is not fetched: the robots.txt of its site asks programs not to",
    "wird nicht abgerufen: die robots.txt der Website bittet Programme darum",
  ],
  ["{} of {} pages hold no text", "{} von {} Seiten enthalten keinen Text"],
  // Refusals of the server
  ["A collection may hold {} MB", "Eine Sammlung darf {} MB enthalten"],
  ["An upload may have {} MB", "Ein Upload darf {} MB haben"],
  [
    "A person may keep {} threads here. Delete some, and try again.",
    "Eine Person darf hier {} Gespräche aufheben. Löschen Sie einige und versuchen Sie es noch einmal.",
  ],
  [
    "A PDF may have {} pages here. Download this thread as Markdown.",
    "Ein PDF darf hier {} Seiten haben. Laden Sie dieses Gespräch als Markdown herunter.",
  ],
  [
    "A thread may be shared with {} people. Open it to its collection.",
    "Ein Gespräch darf mit {} Personen geteilt werden. Öffnen Sie es für alle Leser der Sammlung.",
  ],
  [
    "A person may keep {} tokens here. Delete some, and try again.",
    "Eine Person darf hier {} Tokens haben. Löschen Sie einige und versuchen Sie es noch einmal.",
  ],
  [
    "This thread is as long as one may be: {} questions, or {} characters. Begin another one.",
    "Dieses Gespräch ist so lang, wie eines sein darf: {} Fragen oder {} Zeichen. Beginnen Sie ein neues.",
  ],
  [
    "Others are adding to this collection. Try again in a minute.",
    "Andere fügen dieser Sammlung gerade etwas hinzu. Versuchen Sie es in einer Minute noch einmal.",
  ],
  [
    "The server has no room for this upload now. Try again later.",
    "Der Server hat jetzt keinen Platz für diesen Upload. Versuchen Sie es später noch einmal.",
  ],
  [
    "The server cannot store documents now. Its log says why.",
    "Der Server kann jetzt keine Dokumente speichern. Sein Protokoll sagt, warum.",
  ],
  ["The upload broke off. Nothing of it is kept.", "Der Upload brach ab. Nichts davon ist gespeichert."],
  ["Two of the documents have the same name.", "Zwei der Dokumente haben denselben Namen."],
  ["This document has no such text in the index.", "Dieses Dokument hat keinen solchen Text im Index."],
  [
    "This document has no file: it is a page of the web.",
    "Dieses Dokument hat keine Datei: Es ist eine Webseite.",
  ],
  [
    "Only an admin of the server may do this, with a token of that role.",
    "Das darf nur, wer den Server verwaltet.",
  ],
  [
    "The router is being taught already. Try again when that is done.",
    "Die Einordnung lernt gerade. Versuchen Sie es danach noch einmal.",
  ],
  [
    "This server has no users, so it asks for no token. Add a user first.",
    "Dieser Server hat keine Benutzer und verlangt kein Token. Legen Sie zuerst einen Benutzer an.",
  ],
  [
    "Another request changed this meanwhile. Send yours again.",
    "Inzwischen hat eine andere Anfrage das geändert. Senden Sie Ihre noch einmal.",
  ],
  ["These words are not in the document's text.", "Diese Wörter stehen nicht im Text des Dokuments."],
  ["The request does not have the form that is expected.", "Die Anfrage hat nicht die erwartete Form."],
  // The chat model
  ["The model answers.", "Das Modell antwortet."],
  [
    "The server refused the key, or it takes one.",
    "Der Server hat den Schlüssel abgelehnt, oder er verlangt einen.",
  ],
  [
    "The server knows no model of this name. An address usually ends in /v1.",
    "Der Server kennt kein Modell mit diesem Namen. Eine Adresse endet meist mit /v1.",
  ],
  [
    "The server cannot be reached, or did not answer within {} seconds.",
    "Der Server ist nicht erreichbar oder hat nicht binnen {} Sekunden geantwortet.",
  ],
  [
    "The address leads to a place that is not allowed: plain http only to this machine or a private network, and never to where a cloud tells its machines secrets.",
    "Die Adresse führt an einen Ort, der nicht erlaubt ist: unverschlüsselt (http) nur auf diesen Rechner oder in ein privates Netz, und nie dorthin, wo eine Cloud ihren Rechnern Geheimnisse mitteilt.",
  ],
  [
    "The server answered, but not as a chat model does. It may be busy, or the account has no credit left.",
    "Der Server hat geantwortet, aber nicht wie ein Sprachmodell. Vielleicht ist er überlastet, oder das Guthaben ist verbraucht.",
  ],
  ["The provider {} takes an API key.", "Der Anbieter {} verlangt einen API-Schlüssel."],
  [
    "The address must be like https://HOST/v1 or http://localhost:11434/v1.",
    "Die Adresse muss aussehen wie https://HOST/v1 oder http://localhost:11434/v1.",
  ],
  [
    "The address may hold no name, no password, no question mark and no #.",
    "Die Adresse darf keinen Namen, kein Passwort, kein Fragezeichen und kein # enthalten.",
  ],
  ["This is the address of this server itself.", "Das ist die Adresse dieses Servers selbst."],
  [
    "This address is not allowed. Plain http only to this machine or a private network.",
    "Diese Adresse ist nicht erlaubt. Unverschlüsselt (http) nur auf diesen Rechner oder in ein privates Netz.",
  ],
  [
    "The operator of this server has set its chat model. It cannot be changed here.",
    "Der Betreiber dieses Servers hat das Sprachmodell festgelegt. Hier lässt es sich nicht ändern.",
  ],
];
