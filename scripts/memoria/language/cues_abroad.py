"""Cues abroad: how French, Spanish, Russian, Chinese and Japanese word a rule, a decision or an order of the moment.

Each language has the wording of its rules and decisions, and the wording that ties a sentence to the task at hand. The
words of one language do not occur in another, so that no language has to be recognised first.
"""

from __future__ import annotations

from memoria.language.cue import Cue
from memoria.language.pattern import Pattern


class Tongue:
    """The cues of one language, the ``moment`` wording that outweighs them, and the ``lasting`` that outweighs that."""

    __slots__ = ("cues", "lasting", "moment")

    def __init__(self, lasting: str, moment: str, *cues: Cue) -> None:
        self.lasting = Pattern("(?i)" + lasting)
        self.moment = Pattern("(?i)" + moment)
        self.cues = cues

    def of(self, sentence: str) -> Cue | None:
        """Return the first cue that fits, or None when none does or the sentence is an order of the moment."""
        cue = next((cue for cue in self.cues if cue.fits(sentence, sentence)), None)
        return None if cue and self.moment.search(sentence) and not self.lasting.search(sentence) else cue


_FRENCH = Tongue(
    r"à partir de maintenant|désormais|dorénavant|à l'avenir|dans (?:ce|notre) (?:projet|dépôt|repo)|chez nous",
    r"\b(?:pour (?:l'instant|le moment)|cette fois|aujourd'hui|demain|pas encore|maintenant|tout de suite|pendant que|"
    r"l'autre|les autres|cel(?:ui|le)-(?:ci|là)|ce (?:fichier|test|bouton|module|cas|ticket|commit|code)|cet|cette|"
    r"ces|ça|"
    r"(?:la|le|les) (?:première?|deuxième|seconde?|troisième|dernière?|même|suivante?|précédente?)s?|ligne \d+|"
    r"la tâche|la suite)\b",
    Cue(
        "decision",
        0.7,
        3,
        r"\b(?:on a|nous avons|on s'est) (?:décidé|choisi|opté|convenu|retenu|mis d'accord)\b",
        r"\b(?:on|nous) (?:passe|passons|migre|migrons|bascule|basculons|reste|restons) (?:à|sur|vers|sous) "
        r"(?!la\b|le\b|l'|les\b)\S",
        r"\b(?:on|nous) abandonn(?:e|ons) \S",
    ),
    Cue(
        "preference",
        0.75,
        3,
        r"à partir de maintenant|\bdésormais\b|\bdorénavant\b|à l'avenir|\ben règle générale\b",
        r"^(?:non, )?(?:toujours|ne jamais|jamais de)\b(?! (?:la|le|les|même)\b)",
        r"^(?:non, )?(?:s'il te plaît,? )?(?:ne |n')\w+(?:-\w+)? jamais\b",
        r"\b(?:on|nous) (?:ne |n')\w+ jamais\b|, jamais\W*$",
        r"\bje (?:préfère|veux toujours|déteste|n'aime pas) (?:de |d'|les |des )\w+",
        r"\b(?:on|nous) (?:utilis|nomm|écri[tv]|déplo|stock|rédig|sui[tv]|test)\w* (?!ça\b|cela\b|plutôt\b)\S",
        r"^dans (?:ce|notre) (?:projet|dépôt|repo),? (?:les|on|nous|tous|toutes|pas de|aucun\w*|il faut|toujours|"
        r"jamais)\b",
        r"\bchez nous\b",
        r"^demande[sz]?(?:-moi)? (?:toujours )?(?:mon avis )?avant (?:de |d')|\bdemande[sz]?-moi\b.*\bavant\b",
        r"^évite[sz]? (?:les|des|d'utiliser|d'ajouter)\b",
        r"\b(?:est|sont) (?:interdit|obligatoire|proscrit)e?s?\b",
        r"^(?:tous|toutes) les \w+s (?:doivent|sont|passent|vont)\b",
    ),
)
_SPANISH = Tongue(
    r"a partir de ahora|de ahora en adelante|en adelante|en el futuro|en (?:este|nuestro) (?:proyecto|repo|"
    r"repositorio)",
    r"\b(?:todavía|aún|por ahora|de momento|por el momento|esta vez|ahora|hoy|mañana|mientras|"
    r"est[ea] (?!proyecto|repo|repositorio)\w+|est[oa]s? \w+|es[ea]|eso|el otro|la otra|"
    r"(?:la|el|los|las) (?:primer[ao]?|segund[ao]|tercer[ao]?|últim[ao]s?|siguientes?|mism[ao]s?)|línea \d+|paso \w+|"
    r"mejor)\b",
    Cue(
        "decision",
        0.7,
        3,
        r"\b(?:hemos (?:decidido|acordado|elegido)|decidimos|acordamos|elegimos|nos quedamos con)\b",
        r"\b(?:vamos a (?:migrar|pasar|cambiar) a|migramos a|pasamos a|cambiamos a) (?!la\b|el\b|los\b|las\b)\S",
    ),
    Cue(
        "preference",
        0.75,
        3,
        r"a partir de ahora|de ahora en adelante|\ben el futuro\b|\bpor norma\b",
        r"(?:^|, |: )(?:no, )?nunca (?!ha\b|he\b|han\b|me\b|se ha\b|lo\b|la\b)\w+(?:as|es|os|an|en)\b",
        r"^(?:no, )?siempre (?!me\b|que\b|da\b|sale\b|es\b|el\b|la\b|lo\b)\w+",
        r"\b(?:nosotros|aquí) (?:siempre|nunca|solo) \w+|^(?:los|las) \w+s (?:siempre|nunca) se (?:guard|escrib|"
        r"nombr|us|pon|hac|sub|prueb|document)\w+",
        r"\b(?:prefiero|odio|no me gustan|me gustan) (?!la\b|el\b|lo\b|que\b|no\b|el\b)(?:\w+ )*\w+s\b",
        r"\b(?:usamos|nombramos|escribimos|desplegamos|guardamos|seguimos) (?!lo\b|la\b|el\b|con\b)\S.*(?:, no\b|"
        r"\baquí\b|"
        r"\bsiempre\b|\ben vez de\b)|\b(?:aquí|nosotros) usamos\b",
        r"\bpregúnta(?:me|nos) (?:siempre )?antes de\b",
        r"^(?:por favor,? )?no (?:uses|escribas|añadas|agregues|pongas|hagas|crees) (?!la\b|el\b|los\b|las\b|"
        r"lo\b)\w+s\b",
        r"^en (?:este|nuestro) (?:proyecto|repo|repositorio),? (?:los|las|todos|todas|no|se|usamos|nunca|siempre|"
        r"solo)\b",
        r"^evita (?:los|las|usar|el uso)\b",
        r"\b(?:está|están) (?:prohibid|vetad)[oa]s?\b|\bes obligatorio\b",
        r"\bno quiero tener que\b",
    ),
)
_RUSSIAN = Tongue(
    r"с этого момента|отныне|впредь|в дальнейшем|в (?:этом|нашем) (?:проекте|репозитории)|\bу нас\b",
    r"\b(?:пока|сейчас|сегодня|завтра|потом|(?:на|в) этот раз|ещё не|еще не|"
    r"эт(?:от|у|о|ом|ой|и|их|ого) (?!проект\w*|репозитор\w*)\w+|т(?:от|у|ом|ой|ех)\b|друг(?:ой|ую|ое|ие)|"
    r"(?:перв|втор|треть|следующ|последн)\w+|строк\w* \d+|лучше)\b|^\W*это\b",
    Cue(
        "decision",
        0.7,
        3,
        r"\bмы (?:решили|выбрали|договорились|остаёмся на|остаемся на|перешли на|переходим на|отказались от|"
        r"отказываемся от)\b",
    ),
    Cue(
        "preference",
        0.75,
        3,
        r"\bс этого момента\b|\bотныне\b|\bвпредь\b|\bв дальнейшем\b|\bна будущее\b",
        r"\b(?:никогда|ни в коем случае) не \w+(?:й|йте|и|ите|ь|ьте|ют|ят|ем|им)\b|\bмы никогда не \w+",
        r"\bвсегда \w+(?:й|йте|и|ите|ь|ьте)\b|^\w+(?:ы|и|а|я) всегда (?:хран|пиш|назыв|леж|указыв|использ|нахо)\w+\b|"
        r"\bмы всегда \w+",
        r"\bя (?:предпочитаю|люблю|ненавижу|не люблю)\b",
        r"\bмы (?:используем|пишем|называем|храним|деплоим|тестируем|применяем) (?!это\b|его\b|её\b)\S",
        r"\b(?:спрашивай|спрашивайте|спроси|спросите) меня\b.*\b(?:прежде чем|перед)\b",
        r"^(?:пожалуйста,? )?не (?:используй|пиши|добавляй|делай|коммить|создавай|применяй)(?:те)? \w+(?:ы|и|ия|ия|"
        r"ения|ов|ей)\b",
        r"^в (?:этом|нашем) (?:проекте|репозитории) (?!есть\b|нет\b|ошибк|что-то|не работа)|\bу нас (?:принято|"
        r"всегда|никогда|только|не)\b",
        r"^избегай(?:те)?\b",
        r"\b(?:запрещен|запрещён)\w*\b|\bобязательны\b",
    ),
)
_CHINESE = Tongue(
    r"以后|今后|从现在起|从今以后|(?:这个|本|我们的?)(?:项目|仓库|代码库)",
    r"先别|先不|^先|^请先|现在(?!起)|今天|明天|这次|暂时|目前|这个(?!项目|仓库|代码库)|那个|那些|这些|另一个|上面|下面|刚才|"
    r"第 ?[一二三四五\d]+ ?(?:个|行|步|条)|^继续|还是|一下|同样的|在我(?:的)?(?:机器|电脑)",
    Cue(
        "decision",
        0.7,
        1,
        r"我们?(?:已经)?(?:决定|选择了|选定|商定|打算)|改用|不再(?:使用|用|支持)|迁移到|切换到|弃用",
    ),
    Cue(
        "preference",
        0.75,
        1,
        r"永远(?:不|都)|从不|从来不|绝不|绝对不|千万(?:不要|别)|一定要|必须|一律|始终(?!失败|报错|出错)|总是要|禁止|不允许|严禁",
        r"(?:^|[，,])(?:以后|今后)|从现在起|从今以后",
        r"我(?:更|比较|一般)?(?:喜欢|偏好|倾向于|讨厌)",
        r"我们(?:这里|这边|项目)?(?:都|只|一直|统一|不|从不)?(?:用|使用|采用|写|遵循) ?\S+[，,].*不",
        r"^(?:这个|本|我们的?)(?:项目|仓库|代码库)(?:的|里|中)?\w{0,8}(?:都|只|不|用|一律|必须|禁止)",
        r"^\w{2,8}(?:不要|别|不能|不得)(?:用|使用|写|加|放|包含)\w+",
        r"每次\w*都|每个\w{1,12}都(?:要|必须)|先问我",
    ),
)
_JAPANESE = Tongue(
    r"今後|これから|(?:この|本|当)(?:プロジェクト|リポジトリ|コードベース)",
    r"まだ|今は|今回|今日|明日|とりあえず|ひとまず|この(?!プロジェクト|リポジトリ|コードベース)|その|あの|これ(?!から)|それ|別の|"
    r"(?:[一二三四]|\d+) ?(?:番目|行目|つ目)|次の|どちら|同じ|私の環境|だけして",
    Cue(
        "decision", 0.7, 1,
        r"(?:こと|方針)?に(?:決め|し)(?:ました|た)|決定(?:しました|した|です)|に移行(?:します|しました|する)|廃止|"
        r"採用(?:します|しました|する)",
    ),
    Cue(
        "preference", 0.75, 1,
        r"(?:必ず|常に)(?!エラー|失敗|落ち|止ま|同じ)|絶対に?(?!おかしい)|決して|今後は?|これからは|禁止|厳禁",
        r"(?:しない|すること|使わない|書かない|避ける)(?:こと)?[。.]?$",
        r"(?:の方が|ほうが)?(?:好み|好き)です|好みは",
        r"^(?:この|本|当)(?:プロジェクト|リポジトリ|コードベース)では(?!.*エラー).*(?:ます|する|ない|こと)[。.]?$",
        r"私に(?:確認|聞い|相談)",
        r"ではなく.{1,20}(?:使います|使ってください|使う)",
    ),
)  # fmt: skip
_TONGUES = (_FRENCH, _SPANISH, _RUSSIAN, _CHINESE, _JAPANESE)


def of(sentence: str) -> Cue | None:
    """Return the cue of a sentence in one of these languages, or None when it states no rule and no decision."""
    return next((cue for tongue in _TONGUES if (cue := tongue.of(sentence))), None)
