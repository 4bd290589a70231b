-- Log loss: the mean negative logarithm of the probability that the score gives to the label. The
-- probability is taken to be at least 2^-52.
-- views: _groups.sql
SELECT slice,
       mean_of(-ln(greatest(CASE WHEN label THEN score ELSE 1 - score END, pow(2, -52))),
               score IS NOT NULL AND label IS NOT NULL) AS value
FROM rows
GROUP BY slice
