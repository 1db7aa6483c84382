package pickle

// newest is the latest protocol there is.
const newest = 5

// The opcodes of data. What is left out calls functions by ways of their own, belongs to
// protocols 0 and 1, or shares memory with another process.
const (
	opProto      = 0x80
	opFrame      = 0x95
	opStop       = '.'
	opNone       = 'N'
	opTrue       = 0x88
	opFalse      = 0x89
	opInt8       = 'K'
	opInt16      = 'M'
	opInt32      = 'J'
	opLong       = 0x8a
	opLong4      = 0x8b
	opFloat      = 'G'
	opShortText  = 0x8c
	opText       = 'X'
	opLongText   = 0x8d
	opShortOld   = 'U'
	opOld        = 'T'
	opShortBytes = 'C'
	opBytes      = 'B'
	opLongBytes  = 0x8e
	opByteArray  = 0x96
	opEmptyList  = ']'
	opEmptyDict  = '}'
	opEmptyTuple = ')'
	opEmptySet   = 0x8f
	opMark       = '('
	opAppend     = 'a'
	opAppends    = 'e'
	opSetItem    = 's'
	opSetAll     = 'u'
	opAddAll     = 0x90
	opFrozen     = 0x91
	opTuple      = 't'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opGlobal     = 'c'
	opNamed      = 0x93
	opReduce     = 'R'
	opNewObj     = 0x81
	opBuild      = 'b'
	opRef        = 'Q'
	opGet        = 'h'
	opLongGet    = 'j'
	opPut        = 'q'
	opLongPut    = 'r'
	opMemo       = 0x94
	opPop        = '0'
	opPopMark    = '1'
	opDup        = '2'
)
