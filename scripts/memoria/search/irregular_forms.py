"""Irregular forms: forms of English, German, French and Spanish words that no rule about endings leads to their word.

All are lower case and without accents. Left out are forms that are common words of their own (``left``, ``saw``,
``ground``), verbs that go with anything (``make``, ``take``), and forms that two of the languages share with different
meanings, unless one of them is rare.
"""

from __future__ import annotations

_forms: dict[str, str] = {}


def word_of(form: str) -> str:
    """Return the word that a form belongs to; the form itself when it is not irregular."""
    if not _forms:
        for row in _ROWS.split(","):
            word, *forms = row.split()
            for each in forms:
                _forms[each] = word
    return _forms.get(form, form)


_ROWS = (
    # English
    "arise arose arisen,awake awoke awoken,become became,begin began begun,bend bent,bite bit bitten,bleed bled,"
    "blow blew blown,break broke broken,breed bred,bring brought,build built,burn burnt,buy bought,catch caught,"
    "choose chose chosen,cling clung,creep crept,deal dealt,dig dug,draw drew drawn,dream dreamt,"
    "drink drank drunk,drive drove driven,eat ate eaten,fall fell fallen,feed fed,feel felt,fight fought,"
    "find found,flee fled,fly flew flown,forbid forbade forbidden,forget forgot forgotten,"
    "forgive forgave forgiven,freeze froze frozen,grow grew grown,hang hung,hear heard,hide hid hidden,hold held,"
    "keep kept,know knew,lean leant,leap leapt,learn learnt,lend lent,lose lost,mean meant,meet met,"
    "mistake mistook mistaken,misunderstand misunderstood,overcome overcame,override overrode overridden,"
    "overwrite overwrote overwritten,pay paid,prove proven,rebuild rebuilt,redo redid redone,"
    "rewrite rewrote rewritten,ride rode ridden,ring rang rung,rise risen,run ran,seek sought,sell sold,"
    "send sent,shake shook shaken,shine shone,shoot shot,shrink shrank shrunk,sing sang sung,sink sank sunk,"
    "sit sat,sleep slept,slide slid,speak spoke spoken,speed sped,spend spent,spill spilt,spin spun,"
    "spring sprang sprung,stand stood,steal stole stolen,stick stuck,sting stung,strike struck stricken,"
    "strive strove striven,swear swore sworn,sweep swept,swell swollen,swim swam swum,swing swung,teach taught,"
    "tear tore torn,tell told,think thought,throw threw thrown,understand understood,"
    "undertake undertook undertaken,undo undid undone,wake woke woken,wear wore worn,weave wove woven,weep wept,"
    "win won,withdraw withdrew withdrawn,write wrote written,child children,man men,woman women,person people,"
    "foot feet,tooth teeth,mouse mice,goose geese,index indices,matrix matrices,vertex vertices,"
    "analysis analyses,crisis crises,criterion criteria,schema schemata,"
    # German
    "beginnen begann begonnen,bekommen bekam,beschreiben beschrieb beschrieben,bleiben blieb geblieben,"
    "brechen brach gebrochen,brennen brannte gebrannt,bringen brachte gebracht,denken dachte gedacht,"
    "entscheiden entschied entschieden,essen isst gegessen,fahren fahrt fuhr gefahren,fall fallt fiel gefallen,"
    "fangen fing gefangen,finden fand fanden gefunden,fliegen flog geflogen,fressen gefressen,"
    "frieren fror gefroren,geben gibt gab gaben gegeben,gehen geht ging gingen gegangen,"
    "gelten gilt galt gegolten,geschehen geschieht geschah,gewinnen gewann gewonnen,greifen griff gegriffen,"
    "halten hielt gehalten,hangen hing gehangen,heben hob gehoben,heissen hiess geheissen,helfen hilft geholfen,"
    "kennen kannte gekannt,kommen kam kamen gekommen,laden ladt lud geladen,lassen lasst liess gelassen,"
    "laufen lauft lief liefen gelaufen,lesen liest las gelesen,liegen lagen gelegen,messen misst gemessen,"
    "nehmen nimmt nahm nahmen genommen,nennen nannte genannt,raten riet geraten,reissen riss gerissen,"
    "rufen rief gerufen,schieben schob geschoben,schlafen schlief geschlafen,schlagen schlagt schlug geschlagen,"
    "schliessen schloss geschlossen,schneiden schnitt geschnitten,schreiben schrieb schrieben geschrieben,"
    "schweigen schwieg geschwiegen,schwimmen schwamm,sehen sieht sah sahen gesehen,senden sandte gesandt,"
    "singen gesungen,sink gesunken,sitzen gesessen,sprechen spricht sprach gesprochen,springen gesprungen,"
    "stehen steht gestanden,stehlen gestohlen,steigen stieg gestiegen,sterben starb gestorben,"
    "streichen strich gestrichen,tragen tragt trug getragen,treffen trifft traf getroffen,"
    "treiben trieb getrieben,treten tritt trat getreten,trinken trank getrunken,tun tat getan,"
    "verbieten verbot verboten,vergessen vergisst vergass,verlieren verlor verloren,"
    "verschieben verschob verschoben,verstehen verstand verstanden,verschwinden verschwand verschwunden,"
    "wachsen wachst wuchs gewachsen,weisen wies gewiesen,wenden wandte gewandt,werfen wirft warf geworfen,"
    "wiegen wog gewogen,wissen weiss wusste gewusst,ziehen zieht zog zogen gezogen,zwingen zwang gezwungen,"
    "haus hauser,buch bucher,wort worter,land lander,kunde kunden,"
    # French
    "aller vais vont ira iront,boire bu buvait,connaitre connu connait,conduire conduit,construire construit,"
    "courir couru,couvrir couvert,croire cru croit,decouvrir decouvert,devoir devait doivent,dire disait disent,"
    "disparaitre disparu disparait,ecrire ecrit ecrivent ecrivait,envoyer enverra enverrait,"
    "falloir fallait faudra,faire faisait feront,lire lisait lisent,mettre mettent,offrir offert,ouvrir ouvert,"
    "paraitre paru parait,peindre peint,perdre perdu,pouvoir peut peuvent pouvait pourra,"
    "prendre prend prenait prennent pris,produire produit,recevoir recu recoit recevait,repondre repondu,"
    "resoudre resolu resout,rendre rendu,savoir sait savait saura,servir servi,sortir sorti,suivre suivi suivait,"
    "tenir tenu tient,traduire traduit,vendre vendu,venir venu vient vendra,vivre vecu,voir vu voit voyait verra,"
    "vouloir veut veulent voulait voudra,cheval chevaux,journal journaux,travail travaux,oeil yeux,"
    # Spanish
    "abrir abierto,caber cupo,caer cayo caido,conducir condujo,construir construyo,creer creyo,cubrir cubierto,"
    "dar dio dieron,decir dijo dijeron dicho,destruir destruyo,dormir duerme durmio,elegir elige eligio,"
    "empezar empieza empece,encontrar encuentra,escribir escrito,estar estuvo,"
    "hacer hace hizo hicieron hecho hara,incluir incluye incluyo,introducir introdujo,jugar juega,"
    "leer leyo leido,llegar llegue,mostrar muestra muestran,mover mueve,oir oyo oido,pagar pague,"
    "pedir pide pidio,pensar piensa,perder pierde,poder puede pueden pudo podra,poner pone puso pusieron puesto,"
    "probar prueba,producir produjo,querer quiere quiso,recordar recuerda,reducir redujo,"
    "resolver resuelve resuelto,romper roto,saber supo,salir salio saldra,seguir sigue siguio,sentir siente,"
    "servir sirve,tener tiene tienen tuvo tendra,traducir tradujo,traer trajo,valer valdra,ver vio visto,"
    "volver vuelve vuelto"
)
