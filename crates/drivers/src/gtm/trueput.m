trueput ; what the driver calls in GT.M; every subscript of ^t begins with a letter
 quit
 ;
use(directory) ; the database that the calls to come are for
 set $zgbldir=directory
 do reset
 quit
 ;
reset ; forget what an error has left
 trollback:$tlevel
 kill chunks,values
 set chunks=0,values=0
 quit
 ;
get(key,value) ; whether the key is there, and its value
 set value=$get(^t(key))
 quit:value'="" 1
 quit:'$data(^t(key)) 0
 ; an empty value, or one that another process has written between the two
 new there
 tstart ():(serial:transaction="BATCH")
 set there=$data(^t(key)),value=$get(^t(key))
 tcommit
 quit there
 ;
put(key,value) ; one write, a transaction by itself
 set ^t(key)=value
 quit
 ;
delete(key) ; the same for a delete
 kill ^t(key)
 quit
 ;
page(from,inclusive,way,most,out) ; records in a row; whether there may be more
 new count,key
 set out="",count=0,key=from
 if inclusive,$data(^t(key)) do add
 for  quit:count=most!($zlength(out)>32000)  set key=$order(^t(key),way) quit:key=""  do add
 quit key'=""
add ; a long value is asked for by itself; one that another process has deleted is left out
 new value
 set value=$get(^t(key))
 if value="",'$$get(key,.value) quit
 set count=count+1
 if $zlength(value)>32000 set out=out_$zlength(key)_",,"_key quit
 set out=out_$zlength(key)_","_$zlength(value)_","_key_value
 quit
 ;
chunk(text) ; a part of a transaction that is too long for one call
 set chunks=chunks+1,chunks(chunks)=text
 quit
 ;
value(text) ; a value that is too long for a chunk
 set values=values+1,values(values)=text
 quit
 ;
commit(durable,text) ; the whole transaction; whether what it has read has changed
 new at,bytes,failed,index,key,keybytes,op,value
 if durable tstart ():serial
 else  tstart ():(serial:transaction="BATCH")
 set failed=0
 for index=1:1:chunks do apply(chunks(index)) quit:failed
 if 'failed do apply(text)
 if failed trollback
 else  tcommit
 if chunks!values do reset
 quit failed
 ;
apply(text) ; P put, D delete; read: V a value, A none, F the next key, B the one before
 set at=1
 for  quit:failed!(at>$zlength(text))  do
 . set op=$zextract(text,at),keybytes=+$zextract(text,at+1,at+4)
 . set bytes=+$zextract(text,at+5,at+11),key=$zextract(text,at+12,at+11+keybytes)
 . set at=at+12+keybytes,value=$zextract(text,at,at+bytes-1),at=at+bytes
 . if op="P" set ^t(key)=value quit
 . if op="V" set failed=$get(^t(key))'=value set:value="" failed=failed!'$data(^t(key)) quit
 . if op="A" set failed=$data(^t(key)) quit
 . if op="D" kill ^t(key) quit
 . if op="F" set failed=$order(^t(key))'=value quit
 . if op="B" set failed=$order(^t(key),-1)'=value quit
 . if op="p" set ^t(key)=values(value) quit
 . if op="v" set failed=$get(^t(key))'=values(value)
 quit
 ;
flush ; the journal and the database to storage, with an epoch
 view "EPOCH"
 quit
 ;
statistics(out) ; the counters of the database
 set out=$view("GVSTAT","DEFAULT")
 quit
