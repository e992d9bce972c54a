"""Stop words: the words that carry too little meaning to count, in one list for each use.

All are lower case; only MINOR_WORDS, which are compared with a prompt as it is typed, have their accents. Words that
several uses share are in one list; where two uses differ, a comment gives the reason.
"""

from __future__ import annotations

from memoria.search.function_words import ENGLISH, FUNCTION_WORDS, GERMAN, word_set

# These change what a rule says ("before the commit", "after the commit"), so a comparison of rules keeps them.
_RELATIONS = word_set(
    """above after again before below between both but cannot down during few further most no nor not off once other own
    same through too under until where whose why bis durch euch kann kein keine nicht ohne uber um unter vom warum
    wie wo"""
)
# These only show that something is a rule.
_RULE_WORDS = word_set(
    """always bevorzuge bevorzugt bitte codebase damit dann die diesem dieser dieses dir done every haben hat hier immer
    instead jetzt like likes man may might must nehmen nutze nutzen please prefer preferred prefers project
    projekt rather repo repository shall since sonst statt use used user uses using verwende verwenden want wants
    war waren werden wurde"""
)
# Left out when two rules or facts are compared.
LIGHT_WORDS = ((ENGLISH | GERMAN) - _RELATIONS) | _RULE_WORDS

# Frequent in every technical conversation: they name no topic, although a search may be meant for them.
_EVERYDAY_WORDS = word_set(
    """able across actually add added adds against already although always among another anything away back best better
    call called came case cause caused change changed changes check come currently different don't done due either
    else empty even ever every everything exactly existing fact file files find fine first fix fixed following
    found full get gets getting give given go goes going gone good got happen happens help however i'll i'm inside
    instead issue it's keep kind know last later least left less let let's like likely line lines little long look
    looks lot made main make makes making many matter may maybe means might mine much must name need needed needs
    never new next non none note nothing often ok old one onto open outside part per place please point possible
    previous probably problem properly put quite rather real really reason rest right root run running runs said
    say see seem seems seen set several show shows side simple simply since single something sort still sure take
    takes test tests that's thing things think though three time together toward try trying turn two update
    updated use used user uses using usually via want wants way well went whether whole within without work
    working works wrong yes yet"""
)
# Left out when looking for the topics of technical prose.
COMMON_WORDS = ENGLISH | GERMAN | _EVERYDAY_WORDS

# What people tell an assistant to do, whatever the project, and what every program's errors say: such words say little
# about what a prompt needs to know.
MINOR_WORDS = _EVERYDAY_WORDS | word_set(
    """address addressed agent agents.md answer apply approach branch branches brainstorm build cannot check ci claude
    claude.md code command commands comment comments commit commits compare complete contain contains correct create
    debug delete describe description discuss doc docs document documentation documents draft edit error errors explain
    fail failed failing fails failure failures feedback first function functions generate git github help id ids
    implement implementation implemented info install lack large let list merge message method move now open
    option options output plan pr print project prompt prompts prs pull push read rebase reply readme readme.md
    remove rename repo repository respond review reviews rewrite save search second session sessions show
    solution start status step steps stop string summary talk task tasks text token tokens tool type undo unit user
    value variable verify version wait write
    exception nan nil null properties property reading referenceerror syntaxerror typeerror undefined valueerror
    aktualisiere andere ändere baue behebe benenne bitte datei entferne erkläre fehler funktion füge lege lösche mach
    mache prüfe schreib schreibe teste verwende zeig zeige
    affiche ajoute applique change corrige crée enlève explique fais fichier fonction lance mets modifie montre regarde
    supprime utilise vérifie écris
    archivo arregla añade borra cambia comprueba corrige crea escribe explica función haz mira muestra pon prueba quita
    revisa usa
    добавь измени исправь напиши объясни открой переделай покажи поменяй проверь сделай создай убери удали файл
    функция"""
)
# Chinese and Japanese have no blanks between words and are searched by pairs of characters. A pair that holds one of
# these Chinese particles, pronouns and conjunctions names nothing.
MINOR_CHARACTERS = frozenset(
    "的了吗嗎呢吧呀啊我你他她它您们是不这那哪些请請帮幫把被给給让讓么麼什怎很太就也都还還又且但因所以为為如果已和与與或在有要想看说說做一个個"
)
# And these pairs are what people tell an assistant to do.
MINOR_PAIRS = word_set(
    """文件 文档 文檔 代码 代碼 项目 修改 添加 增加 删除 检查 测试 运行 更新 函数 函數 提交 结果 问题 错误 现在
    可能 需求 方案 具体 実装 追加 修正 削除 変更 確認 作成 実行 関数 結果 問題"""
)
# Function words and orders of languages of which the index leaves no words out ("door" is a word in English): they
# count little in a prompt that is written in the language.
MINOR_OF_LANGUAGES = tuple(
    word_set(words) - FUNCTION_WORDS
    for words in (
        # Dutch
        """aan alle alles ben bent bij boven daar daarna dan dat deze doe doen door dus een eerst er even ga gaan geen
        graag heeft heel het hoe hun iets ik je jij jouw jullie kan klik kunnen laat laten maak maar maken met mij mijn
        moet moeten naar niet niets nog nu om onder ons onze ook op te tot tussen uit uw van veel voeg voor waar
        waarom want waren wat weer wel welke wie wij wil willen wordt worden zal zet zich zij zijn zo zonder zorg zou
        zullen""",
        # Italian
        """abbiamo aggiungi ai alla allo anche ancora che chi ci con crea cui dai dal dalla degli dei delle deve devono
        dove fa fai fammi fare fra ha hai hanno ma metti mia mio nel nella più perché poi possono può quella quello
        questa queste questi questo sei siamo sono sua sul sulla suo tra tua tuo tutti tutto voglio vorrei è""",
        # Portuguese
        """adicione ainda ao aquele com crie das deve dos ela ele em está estão eu faça faz fazer foi gostaria isso isto
        já mas meu minha mais nas não nós onde os ou pela pelo pode podem quando queria quero ser seu são também tem
        ter todos tudo um uma você""",
        # Polish
        """ale bardzo być był była było chcę co czy dla dlaczego do dodaj gdzie jak jest jeszcze już kiedy kto ma mają
        mi mnie może można moje mój na nie od po proszę przez przy się są ta tak te tego tej ten tylko tym w wszystko z
        za zmień zrób że""",
    )
)
