threen1 ; the 3n+1 workload in GT.M itself: a worker's share without call-ins, one SET for a store
 ; It speaks with trueput as crates/engine/src/native.rs says. $ZCMDLINE has the share as words
 ; NAME=VALUE. The records are those of docs/workloads/threen1.md, in ^t as trueput.m keeps them.
 new again,at,block,blocks,bound,claims,cursor,depth,digit,durable,finish,finishes,first,fresh,given
 new id,index,key,largest,last,longest,longestkey,number,origin,path,peak,reads,released,set,start
 new steps,text,top,units,updates,value,word,words,worker
 set $etrap="write ""error "",$zstatus,! zhalt 1"
 do settings
 ; the first reference opens the database
 if $get(^t(cursor))="" do wrong("the cursor of the blocks is missing")
 write "ready",!
 read text
 quit:text'="go"
 for  do claim quit:given<0  do work
 do report("ended")
 read text
 quit
 ;
settings ; what the command line says, and what follows from it
 for index=1:1:$length($zcmdline," ") do
 . set text=$piece($zcmdline," ",index),set($piece(text,"="))=$piece(text,"=",2)
 set start=+set("start"),finish=+set("finish"),words=set("keys")="words"
 if finish'<1E18 do wrong("a number of GT.M has 18 digits, and the range ends beyond")
 set block=finish-start+set("workers")\set("workers")
 if set("block")>0,set("block")<block set block=+set("block")
 set blocks=finish-start+block\block
 set durable=set("durability")="sync",id=$select(durable:"",1:"BATCH")
 set worker=$$four(set("worker")),cursor="k"_$zchar(255)_"c"
 set longestkey="k"_$zchar(255)_"l",largest="k"_$zchar(255)_"m"
 for number=0:1:9 do
 . set word(number)=$piece("zero eins deux tres quattro пять ستة सात 捌 ஒன்பது"," ",number+1)
 . set digit(word(number))=number
 set (bound,claims,finishes,reads,units,updates)=0
 quit
 ;
claim ; the next block that is no other's, or -1
 tstart ():(serial:transaction=id)
 set text=^t(cursor)
 set released=$$number(text,1),again=$$number(text,9),fresh=$$number(text,17)
 set given=-1
 if again<released set given=$$number(^t($$tag("r",again)),1),again=again+1
 else  if fresh<blocks set given=fresh,fresh=fresh+1
 if given'<0 do
 . set ^t(cursor)=$$eight(released)_$$eight(again)_$$eight(fresh)
 . set ^t($$tag("b",given))=$zchar(0)_worker
 tcommit
 if given'<0 set claims=claims+1
 quit
 ;
work ; every start of a block
 set first=given*block+start,last=first+block-1
 if last>finish set last=finish
 set longest=-1
 for origin=first:1:last do from set units=units+1 do:'(units#500) report("done")
 tstart ():(serial:transaction=id)
 set index=$$raise(longestkey,longest,longest("start"))
 set ^t($$tag("b",given))=$zchar(1)_worker
 tcommit
 set finishes=finishes+1
 quit
 ;
from ; the sequence from one start
 set depth=0,number=origin,peak=0
 for  set key=$$key(number),at=$get(^t(key)),reads=reads+1 quit:at'=""!(number=1)  do
 . set depth=depth+1,path(depth)=key
 . set number=$select(number#2:3*number+1,1:number\2)
 . if number>peak set peak=number do:peak'<1E18 wide
 set steps=$select(at="":0,words:$$count(at),1:$zascii(at,3)*256+$zascii(at,4))
 ; the largest number goes with the first store, which hides the way to it from later readers
 if peak>bound do
 . set steps=steps+1,value=$$value(steps)
 . tstart ():(serial:transaction=id)
 . set top=$$raise(largest,peak,origin),^t(path(depth))=value
 . tcommit
 . set bound=top,depth=depth-1,updates=updates+1
 set updates=updates+depth
 if 'durable for depth=depth:-1:1 set steps=steps+1,^t(path(depth))=$$value(steps)
 else  for depth=depth:-1:1 set steps=steps+1,value=$$value(steps) do
 . tstart ():(serial:transaction=id)
 . set ^t(path(depth))=value
 . tcommit
 if steps>longest set longest=steps,longest("start")=origin
 quit
 ;
raise(name,reached,by) ; in a transaction: a maximum with its lowest start; what now stands there
 new now,stored
 set stored=$get(^t(name)),now=$$number(stored,1)
 if stored'="",reached<now!(reached=now&(by'<$$number(stored,9))) quit now
 set ^t(name)=$$eight(reached)_$$eight(by)
 quit reached
 ;
report(how) ; what was done so far
 write how," read=",reads," update=",updates," claim=",claims," finish=",finishes
 write " units=",units," blocks=",finishes,!
 quit
 ;
wide ; arithmetic would round
 do wrong("the sequence from "_origin_" leaves the 18 digits of a number of GT.M")
 ;
wrong(why) ; says so and ends
 write "error ",why,!
 zhalt 1
 ;
key(number) ; the subscript of a number
 if words quit "k"_$$spell(number)
 quit "k"_$$eight(number)
 ;
value(steps) ; what is stored for a count of steps; no sequence of 18 digits has 65,536
 if words quit $$spell(steps)
 quit $zchar(0,0,steps\256,steps#256)
 ;
tag(letter,number) ; the subscript of a record beside the steps
 quit "k"_$zchar(255)_letter_$$eight(number)
 ;
eight(number) ; as eight bytes, the high one first
 quit $$four(number\4294967296)_$$four(number#4294967296)
 ;
four(number) ; as four bytes
 quit $zchar(number\16777216,number\65536#256,number\256#256,number#256)
 ;
number(text,at) ; of eight bytes
 new index,number
 set number=0
 for index=at:1:at+7 set number=number*256+$zascii(text,index)
 quit number
 ;
spell(number) ; the digits as words
 new index,text
 set text=word($extract(number))
 for index=2:1:$length(number) set text=text_" "_word($extract(number,index))
 quit text
 ;
count(text) ; what was spelled
 new index,number
 set number=""
 for index=1:1:$length(text," ") set number=number_digit($piece(text," ",index))
 quit +number
